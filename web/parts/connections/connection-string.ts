import type { Values } from "../form/form.tsx";

/** URL schemes of database connection strings, by provider. */
const SCHEMES: Readonly<Record<string, readonly string[]>> = {
  postgres: ["postgres:", "postgresql:"],
  mysql: ["mysql:", "mariadb:"],
};

export const takesString = (provider: string): boolean => Object.hasOwn(SCHEMES, provider);

interface Parts {
  config: Values;
  credentials: Record<string, string>;
}

/** Parses a connection string such as `postgres://user:password@host:5432/shop`. Null for other text. */
export function partsOf(text: string, provider: string): Parts | null {
  const url = URL.parse(text.trim());
  if (!url || !SCHEMES[provider]?.includes(url.protocol) || url.hostname === "") return null;
  const plain = (part: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part; // a literal percent sign
    }
  };
  const database = plain(url.pathname.slice(1));
  const sslMode = url.searchParams.get("sslmode") ?? url.searchParams.get("ssl-mode");
  const { username, password } = url;
  return {
    config: {
      host: plain(url.hostname).replace(/^\[(.*)\]$/, "$1"),
      ...(url.port === "" ? {} : { port: Number(url.port) }),
      ...(database === "" ? {} : { database }),
      ...(sslMode === null ? {} : { sslMode: sslMode.toLowerCase().replaceAll("_", "-") }),
    },
    credentials: {
      ...(username === "" ? {} : { user: plain(username) }),
      ...(password === "" ? {} : { password: plain(password) }),
    },
  };
}
