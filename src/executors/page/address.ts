import type { Json } from "../../base/json.ts";

/** True for an address whose host no template fills in; one without a host is its connection's. */
export const isFixedAddress = (url: Json | undefined): boolean =>
  typeof url === "string" && /^(https?:\/\/[^/{}]+([/?#]|$)|\/(?!\/))/i.test(url);
