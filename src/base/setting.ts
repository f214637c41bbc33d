import { parseCidr } from "./cidr.ts";
import { ConfigError } from "./config-error.ts";
import type { Rate } from "./limit.ts";

/* Readers of settings. Each returns its value, or its default for an empty text.
   Throws `ConfigError` with a sentence that names the setting and the expected format. */

export function text(fallback: string) {
  return (value: string | undefined) => value ?? fallback;
}

export function maybe(value: string | undefined): string | null {
  return value ?? null;
}

export function yes(value: string | undefined, name: string): boolean {
  if (value === undefined || value === "0" || value === "false") return false;
  if (value === "1" || value === "true") return true;
  throw new ConfigError(`Invalid ${name}: ${quote(value)}. Use true or false.`);
}

export function integer(fallback: number, least: number, most: number) {
  return (value: string | undefined, name: string) => {
    if (value === undefined) return fallback;
    const number = Number(value);
    if (!/^\d+$/.test(value.trim()) || number < least || number > most) {
      throw new ConfigError(`Invalid ${name}: ${quote(value)}. Use a whole number from ${least} to ${most}.`);
    }
    return number;
  };
}

export function maybeInteger(least: number, most: number) {
  const read = integer(least, least, most);
  return (value: string | undefined, name: string) => (value === undefined ? null : read(value, name));
}

/** The first attempt is always immediate, whether the list starts with 0 or with the first pause. */
export function schedule(fallback: readonly number[]) {
  return (value: string | undefined, name: string): readonly number[] => {
    if (value === undefined) return fallback;
    const steps = value.split(",").map((step) => step.trim());
    if (steps.length > 50 || !steps.every((step) => /^\d{1,7}$/.test(step))) {
      throw new ConfigError(
        `Invalid ${name}: ${quote(value)}. Use up to 50 delays in whole seconds, such as 0,5,300,1800.`,
      );
    }
    const pauses = steps.map(Number);
    return pauses[0] === 0 ? pauses : [0, ...pauses];
  };
}

export function choice<const T extends readonly string[]>(values: T, fallback: T[number]) {
  return (value: string | undefined, name: string): T[number] => {
    if (value === undefined) return fallback;
    if (values.includes(value)) return value;
    throw new ConfigError(`Invalid ${name}: ${quote(value)}. Use ${values.join(", ")}.`);
  };
}

export function url(schemes: readonly string[]) {
  return (value: string | undefined, name: string): string | null => {
    if (value === undefined) return null;
    const parsed = URL.canParse(value) ? new URL(value) : null;
    if (parsed && schemes.includes(parsed.protocol) && parsed.hostname) return value.replace(/\/+$/, "");
    throw new ConfigError(
      `Invalid ${name}: ${quote(value)}. Use a URL that starts with ${schemes.map((s) => `${s}//`).join(" or ")}.`,
    );
  };
}

/** The URL of the server. Its path, if any, must not start with one of the names in `taken`. */
export function site(taken: readonly string[]) {
  return (value: string | undefined, name: string): string | null => {
    const address = url(["http:", "https:"])(value, name);
    if (address === null) return null;
    const path = /^https?:\/\/[^/?#\\\s]+(.*)$/i.exec(address)?.[1];
    if (path === undefined || !/^(\/[A-Za-z0-9_-]+)*$/.test(path)) {
      throw new ConfigError(
        `Invalid ${name}: ${quote(address)}. After the host, use no path, or one of letters, digits, - and _, such as /weir.`,
      );
    }
    const first = path.split("/")[1] ?? "";
    if (taken.includes(first.toLowerCase())) {
      throw new ConfigError(
        `Invalid ${name}: ${quote(address)}. Weir uses paths that start with /${first} itself. Use another path, such as /weir.`,
      );
    }
    return address;
  };
}

/** `s3://BUCKET` with an optional prefix, the folder of the lake. */
export function bucketUrl(value: string | undefined, name: string): string | null {
  if (value === undefined) return null;
  const isFine = /^s3:\/\/[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9](\/[^\s?#]*)?$/.test(value);
  if (isFine && !/\/\.{1,2}(\/|$)/.test(value)) return value.replace(/\/+$/, "");
  throw new ConfigError(
    `Invalid ${name}: ${quote(value)}. Use s3://BUCKET/PREFIX, with 3 to 63 characters in the bucket's name.`,
  );
}

/** A mail server: `smtp://` or `smtps://`, optionally with user name and password. `smtp://` can have `?tls=off`. */
export function smtp(value: string | undefined, name: string): string | null {
  if (value === undefined) return null;
  const parts =
    /^(smtps?):\/\/(?:([^\s:@/?#]+):([^\s:@/?#]+)@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?\/?(\?tls=off)?$/.exec(
      value,
    );
  const isEscaped = /^([^%]|%[0-9A-Fa-f]{2})*$/.test(`${parts?.[2] ?? ""}${parts?.[3] ?? ""}`);
  if (parts && isEscaped && URL.canParse(value) && !(parts[1] === "smtps" && parts[5])) return value;
  throw new ConfigError(
    `Invalid ${name}. Use smtp://user:password@host:port or smtps://user:password@host:port; smtp:// also allows ?tls=off. In the username and the password, write /, :, @, ?, # and % as %2F, %3A, %40, %3F, %23 and %25.`,
  );
}

/** `http://` or `https://` with a host and port, optionally with user name and password. */
export function proxy(value: string | undefined, name: string): string | null {
  if (value === undefined) return null;
  const parsed = URL.parse(value);
  const isPlain = parsed && ["http:", "https:"].includes(parsed.protocol) && parsed.pathname === "/";
  if (isPlain && parsed.search === "" && parsed.hash === "") return parsed.href;
  throw new ConfigError(
    `Invalid ${name}. Use http://user:password@host:port or https://user:password@host:port. In the username and the password, write /, :, @, ?, # and % as %2F, %3A, %40, %3F, %23 and %25.`,
  );
}

/** The sender address of mails, also as `Name <address>`. */
export function sender(value: string | undefined, name: string): string | null {
  if (value === undefined) return null;
  const address = /^[^<>\p{Cc}]*<([^<>]+)>$/u.exec(value)?.[1] ?? value;
  if (/^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(address)) return value;
  throw new ConfigError(`Invalid ${name}: ${quote(value)}. Use an address such as Weir <weir@example.com>.`);
}

/** A comma-separated list of `group=organization:role`. */
export function groupRoles(value: string | undefined, name: string): readonly string[] {
  const pairs = (value ?? "")
    .split(",")
    .map((pair) => pair.trim())
    .filter(Boolean);
  const bad = pairs.find((pair) => !/^.+=[a-z0-9-]+:(viewer|member|admin|owner)$/.test(pair));
  if (bad === undefined) return pairs;
  throw new ConfigError(
    `Invalid entry in ${name}: ${quote(bad)}. Use a comma-separated list of group=organization:role, such as data-team=acme:member, with an organization's slug or ID and the role viewer, member, admin or owner.`,
  );
}

/** Left unchanged: a trailing slash is part of the name. */
export function issuer(value: string | undefined, name: string): string | null {
  if (value === undefined) return null;
  const parsed = URL.parse(value);
  const isPlain = parsed !== null && /^https?:$/.test(parsed.protocol) && !/[?#@\s]/.test(value);
  if (isPlain) return value;
  throw new ConfigError(
    `Invalid ${name}: ${quote(value)}. Use the issuer URL of an OpenID provider, such as https://login.example.com.`,
  );
}

export function list(check: ((item: string) => boolean) | null) {
  return (value: string | undefined, name: string): readonly string[] => {
    const items = (value ?? "")
      .split(",")
      .map((item) => item.trim())
      .filter(Boolean);
    const bad = items.find((item) => check && !check(item));
    if (bad !== undefined)
      throw new ConfigError(
        `Invalid entry in ${name}: ${quote(bad)}. Use a comma-separated list of CIDR ranges such as 10.0.0.0/8.`,
      );
    return items;
  };
}

export function isCidr(value: string): boolean {
  try {
    return parseCidr(value) !== null;
  } catch {
    return false; // the caller reports the item
  }
}

export function ratio(fallback: number) {
  return (value: string | undefined, name: string) => {
    if (value === undefined) return fallback;
    if (/^(0?\.\d+|[01](\.0*)?)$/.test(value.trim())) return Number(value);
    throw new ConfigError(`Invalid ${name}: ${quote(value)}. Use a number from 0 to 1, such as 0.1.`);
  };
}

export function rate(fallback: Rate) {
  return (value: string | undefined, name: string): Rate | null => {
    if (value === undefined) return fallback;
    if (value === "off") return null;
    const [, perMinute, burst] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(value) ?? [];
    if (!perMinute || Number(perMinute) < 1 || Number(burst ?? 1) < 1) {
      throw new ConfigError(
        `Invalid ${name}: ${quote(value)}. Use requests per minute such as 1200, with a burst such as 1200:300, or off.`,
      );
    }
    return {
      perMinute: Number(perMinute),
      burst: Number(burst ?? Math.max(1, Math.ceil(Number(perMinute) / 4))),
    };
  };
}

export function memory(fallback: string) {
  return (value: string | undefined, name: string) => {
    if (value === undefined) return fallback;
    if (/^\d{1,6}(\.\d+)?\s?(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/i.test(value)) return value;
    throw new ConfigError(`Invalid ${name}: ${quote(value)}. Use an amount of memory such as 512MB or 2GB.`);
  };
}

const quote = (value: string) => JSON.stringify(withoutSecrets(value).slice(0, 100));

/**
 * Hides secrets in a URL, even an invalid one: everything before the last @ of `scheme://user:password@host`,
 * and the values of its query.
 */
export function withoutSecrets(address: string): string {
  const isAddress = /^\s*[a-z][a-z0-9+.-]*:/i.test(address) || /:[^@]*@/.test(address);
  if (!isAddress) return address;
  return address
    .replace(/^(\s*[a-z][a-z0-9+.-]*:\/*)?.*@/is, (_, scheme: string = "") => `${scheme}***@`)
    .replace(/([?&#][^=&#]*=)[^&#]*/g, "$1***");
}
