/** True for bodies that are sent as the text that they are given as. */
export const isTextual = (type: string): boolean =>
  /^(text\/|application\/(xml|graphql|yaml))|\+xml\b/i.test(type);
