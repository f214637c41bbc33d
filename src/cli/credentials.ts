import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { ConfigError } from "../base/config-error.ts";
import { isObject } from "../base/json.ts";

/** The user's environment: where credentials are stored, and which server to use. */
export interface Person {
  /** Absolute path. May not exist yet. */
  readonly configFolder: string;
  /** From the environment. Null if it isn't set. */
  readonly server: string | null;
  /** Token and organization (ID or slug) from the environment. They take precedence over stored ones. */
  readonly token?: string | undefined;
  readonly organization?: string | undefined;
  /** Terminal type, such as `xterm-256color`. */
  readonly terminal: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the user's environment. */
export function personOf(env: Environment): Person {
  const named = process.platform === "win32" ? env.APPDATA : env.XDG_CONFIG_HOME;
  // A relative XDG_CONFIG_HOME is ignored, as the XDG Base Directory Specification requires.
  const folder = named && isAbsolute(named) ? named : join(env.HOME || homedir(), ".config");
  return {
    configFolder: join(folder, "weir"),
    server: env.WEIR_SERVER || env.WEIR_BASE_URL || null,
    token: env.WEIR_TOKEN || undefined,
    organization: env.WEIR_ORG || undefined,
    terminal: env.TERM || null,
  };
}

interface Kept {
  /** The server last signed in to. */
  server: string | null;
  /** By server. */
  tokens: Record<string, string>;
}

/** The user's tokens, one per server, in a file that only the user can read. */
export function openCredentials({ configFolder, token }: Person) {
  const file = join(configFolder, "credentials.json");

  function load(): Kept {
    if (!existsSync(file)) return { server: null, tokens: {} };
    const kept = parse(file);
    const tokens = isObject(kept.tokens) ? kept.tokens : {};
    return {
      server: typeof kept.server === "string" ? kept.server : null,
      tokens: Object.fromEntries(
        Object.entries(tokens).flatMap(([server, token]) =>
          typeof token === "string" ? [[server, token]] : [],
        ),
      ),
    };
  }

  function save(kept: Kept): void {
    const fresh = `${file}.${process.pid}`;
    try {
      mkdirSync(configFolder, { recursive: true, mode: 0o700 });
      rmSync(fresh, { force: true });
      writeFileSync(fresh, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600, flag: "wx" });
      renameSync(fresh, file);
    } catch (cause) {
      throw new ConfigError(`Couldn't save the token in ${file}: ${reason(cause)}.`, { cause });
    }
  }

  return {
    /** The server last signed in to. Null if there is none. */
    server: () => load().server,
    tokenFor: (server: string): string | null => token ?? load().tokens[server] ?? null,
    keep(server: string, token: string): void {
      save({ server, tokens: { ...load().tokens, [server]: token } });
    },
    forget(server: string): void {
      const kept = load();
      const { [server]: _, ...tokens } = kept.tokens;
      save({ server: kept.server === server ? null : kept.server, tokens });
    },
  };
}

function parse(file: string): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isObject(kept)) return kept;
  } catch (cause) {
    throw new ConfigError(`Couldn't read ${file}: ${reason(cause)}. Delete it and sign in again.`, { cause });
  }
  throw new ConfigError(`${file} contains no credentials. Delete it and sign in again.`);
}

const reason = (cause: unknown) =>
  cause instanceof Error && "code" in cause ? String(cause.code) : "the file is damaged";
