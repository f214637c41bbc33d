/** A `WWW-Authenticate` header of the Bearer scheme (RFC 6750, RFC 9728). */
export interface Challenge {
  /** URL of the protected resource metadata; null if absent. */
  resourceMetadata: string | null;
  /** The scopes that the request needed, separated by spaces. */
  scope: string | null;
  /** For example `insufficient_scope`. */
  error: string | null;
}

const MAX_CHARACTERS = 8_192;

/** Null if the header requires another scheme. A refusal without the header may still require a bearer token. */
export function readChallenge(header: string | null): Challenge | null {
  if (header === null || header.trim() === "") return { resourceMetadata: null, scope: null, error: null };
  const text = header.slice(0, MAX_CHARACTERS);
  const start = /(?:^|,)\s*bearer(?=[\s,]|$)/i.exec(text);
  if (!start) return null;
  const own = text.slice(start.index + start[0].length);
  const value = (name: string): string | null => {
    const [, quoted, plain] =
      new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s",]+))`, "i").exec(own) ?? [];
    const found = quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "";
    return found === "" ? null : found;
  };
  return { resourceMetadata: value("resource_metadata"), scope: value("scope"), error: value("error") };
}

const MAX_SCOPES = 50;

/** The scopes in several strings, in order and without duplicates; null if there are none. Omits invalid names. */
export function scopesOf(...texts: readonly (string | null | undefined)[]): string | null {
  const names = texts.flatMap((text) => text?.split(/\s+/) ?? []);
  const good = names.filter((name) => /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(name));
  return [...new Set(good)].slice(0, MAX_SCOPES).join(" ") || null;
}
