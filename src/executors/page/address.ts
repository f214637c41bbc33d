import type { Json } from "../../base/json.ts";

/** True for a URL whose host contains no template. A URL without a host uses its connection's. */
export const isFixedAddress = (url: Json | undefined): boolean =>
  typeof url === "string" && /^(https?:\/\/[^/{}]+([/?#]|$)|\/(?!\/))/i.test(url);
