/** A link to a page, which opens in that organization, whichever one the reader used last. */
export const linkIn = (organizationId: string, page: string): string =>
  `${page}?organization=${organizationId}`;
