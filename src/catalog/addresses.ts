import { maskSecrets } from "../base/mask.ts";

/** Why this is no address of an API; null where it is one. Credentials belong into a connection. */
export function apiAddressFault(address: string, type: "http" | "mcp"): string | null {
  if (!/^https?:\/\/\S+$/i.test(address) || !URL.canParse(address))
    return "Input should be a URL that starts with http:// or https://";
  const { username, password, search, hash } = new URL(address);
  if (username || password) return "URL must not contain a username or password. Use a connection instead";
  if (hash !== "" || (type === "http" && search !== ""))
    return "An address of an API ends with its path: no parameters and no # part";
  if (maskSecrets(address) !== address)
    return "URL must not contain a key or token. Use a connection instead";
  return null;
}

/** The address in one spelling, so that two of one place are equal: of http and https, with and without a last slash. */
export function addressKey(address: string): string {
  const url = URL.parse(address);
  if (!url) return address;
  const port = url.port === "" ? "" : `:${url.port}`;
  return `${url.hostname}${port}${url.pathname.replace(/\/+$/, "")}${url.search}`;
}

/** `path` below `baseUrl`, as texts: neither is read as an address, so that a path never leads to another host. */
export const joinPath = (baseUrl: string, path: string) =>
  `${baseUrl.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;

/** Whether the name of a header or parameter is one of those that carry credentials. */
export const isSecretName = (name: string): boolean =>
  /^(authorization|proxy-authorization|cookie|set-cookie)$/i.test(name) ||
  (maskSecrets({ [name]: "x" }) as Record<string, unknown>)[name] !== "x";
