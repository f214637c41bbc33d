/** A file of the page. The default export is its URL. */
declare module "*.woff2" {
  const address: string;
  export default address;
}
