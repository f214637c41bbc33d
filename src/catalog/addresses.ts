import { maskSecrets } from "../base/mask.ts";

/** Why the address isn't valid for an API, or null if it is. Credentials belong in a connection. */
export function apiAddressFault(address: string, type: "http" | "mcp"): string | null {
  if (!/^https?:\/\/\S+$/i.test(address) || !URL.canParse(address))
    return "Input should be a URL that starts with http:// or https://";
  const { username, password, search, hash } = new URL(address);
  if (username || password) return "URL must not contain a username or password. Use a connection instead";
  if (hash !== "" || (type === "http" && search !== ""))
    return "The URL of an API can't have query parameters or a fragment";
  if (maskSecrets(address) !== address)
    return "URL must not contain a key or token. Use a connection instead";
  return null;
}

/** Normalizes the address, so that `http` and `https`, with and without a trailing slash, compare equal. */
export function addressKey(address: string): string {
  const url = URL.parse(address);
  if (!url) return address;
  const port = url.port === "" ? "" : `:${url.port}`;
  return `${url.hostname}${port}${url.pathname.replace(/\/+$/, "")}${url.search}`;
}

/** Appends `path` to `baseUrl` as strings: neither is parsed as a URL, so a path never leads to another host. */
export const joinPath = (baseUrl: string, path: string) =>
  `${baseUrl.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;

/** Whether a header or parameter of this name usually carries credentials. */
export const isSecretName = (name: string): boolean =>
  /^(authorization|proxy-authorization|cookie|set-cookie)$/i.test(name) ||
  (maskSecrets({ [name]: "x" }) as Record<string, unknown>)[name] !== "x";
