/** The text of `setup-page.js`, which runs in the first owner's browser. */
declare const text: string;
export default text;
