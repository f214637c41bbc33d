/** The path of its host that Weir stands below, such as `/weir`; empty for none. The server writes it into the page. */
export const base: string = document.documentElement.dataset.base ?? "";
