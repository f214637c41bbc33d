/** The text of a script that runs in a person's browser. */
declare module "*.page.js" {
  const text: string;
  export default text;
}
