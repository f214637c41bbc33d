/** `fetch` for a library of Weir's own services, which trusts the certificates of `ca` alone. */
export const trustingFetch =
  (ca: string) =>
  (request: Request): Promise<Response> =>
    fetch(request, { tls: { ca } } as RequestInit);
