/** Base path of Weir on its host, such as `/weir`, or empty. The server writes it into the page. */
export const base: string = document.documentElement.dataset.base ?? "";
