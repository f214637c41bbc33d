/** Text of a script that runs in the browser. */
declare module "*.page.js" {
  const text: string;
  export default text;
}
