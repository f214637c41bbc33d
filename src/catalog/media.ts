/** Whether bodies of this type are sent as text, unchanged. */
export const isTextual = (type: string): boolean =>
  /^(text\/|application\/(xml|graphql|yaml))|\+xml\b/i.test(type);
