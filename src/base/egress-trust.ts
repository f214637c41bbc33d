/** `fetch` for the client library of one of Weir's own services. Trusts only the certificates in `ca`. */
export const trustingFetch =
  (ca: string) =>
  (request: Request): Promise<Response> =>
    fetch(request, { tls: { ca } } as RequestInit);
