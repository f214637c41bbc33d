/** The text of `docs.js`, which runs in the reader's browser. */
declare const text: string;
export default text;
