import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the provider says about a user, by the scopes `profile` and `email`. */
type Claims = Record<string, unknown>;

interface Options {
  /** By login, which is also the subject. */
  people?: Record<string, Claims>;
  /** Puts the claims into the ID token. Otherwise, only the userinfo endpoint has them. */
  claimsInIdToken?: boolean;
  /** Lifetime of access tokens. */
  lifetimeSeconds?: number;
  /** A claim of the scope `profile` that lists groups. */
  groupsClaim?: string;
  /** False: there is no `offline_access`, and so no refresh token. */
  offline?: boolean;
}

const PEOPLE: Record<string, Claims> = {
  ada: { email: "Ada@Example.com", email_verified: true, given_name: "Ada", family_name: "King" },
  grace: {
    email: "grace@example.com",
    email_verified: true,
    given_name: "Grace",
    family_name: "Hopper",
    picture: "https://login.example.com/grace.png",
  },
  mallory: { email: "ada@example.com", email_verified: false },
  eve: { email: "eve@example.com", email_verified: true },
  nobody: {},
};

const CLIENT = { id: "weir", secret: "a secret of:weir+and/its provider" };

/** oidc-provider over a real socket, with its own sign-in form. `await using` ends it. */
export async function startOpenId(options: Options = {}) {
  const people = { ...PEOPLE, ...options.people };
  const kept = new Map<string, Map<string, Stored>>();
  const requests: string[] = [];
  let handle: ((request: IncomingMessage, response: ServerResponse) => void) | null = null;
  const listen = async (port: number): Promise<Server> => {
    const server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url?.split("?")[0]}`);
      if (handle) return handle(request, response);
      response.writeHead(503).end();
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return server;
  };
  const { default: Provider } = await quietly(() => import("oidc-provider"));
  let server: Server | null = await listen(0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const stop = async () => {
    const stopping = server;
    server = null;
    stopping?.closeAllConnections();
    if (stopping) await new Promise((resolve) => stopping.close(resolve));
  };

  return {
    issuer,
    people,
    /** Every request received, such as `GET /auth`. */
    requests,
    env: {
      WEIR_OIDC_ISSUER: issuer,
      WEIR_OIDC_CLIENT_ID: CLIENT.id,
      WEIR_OIDC_CLIENT_SECRET: CLIENT.secret,
    },
    /** Registers the server at `origin` as its client. Until then, it responds to nothing. */
    async register(origin: string) {
      const made = await quietly(
        async () => new Provider(issuer, configuration(origin, people, kept, options)),
      );
      handle = made.callback();
    },
    /** Number of valid refresh tokens. */
    refreshTokens: () => kept.get("RefreshToken")?.size ?? 0,
    /** Invalidates all of them. */
    forgetRefreshTokens: () => kept.get("RefreshToken")?.clear(),
    stop,
    /** At the same address again, with all of its state. */
    async restart() {
      server ??= await listen(port);
    },
    [Symbol.asyncDispose]: stop,
  };
}

const configuration = (
  origin: string,
  people: Record<string, Claims>,
  kept: Map<string, Map<string, Stored>>,
  { claimsInIdToken = false, lifetimeSeconds = 600, offline = true, groupsClaim }: Options,
) => ({
  clients: [
    {
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      redirect_uris: [`${origin}/api/v1/auth/oidc/callback`],
      grant_types: ["authorization_code", ...(offline ? ["refresh_token"] : [])],
      response_types: ["code"],
    },
  ],
  adapter: adapterOver(kept),
  claims: {
    email: ["email", "email_verified"],
    profile: [
      "given_name",
      "family_name",
      "picture",
      ...(groupsClaim ? [groupsClaim, "_claim_names", "_claim_sources"] : []),
    ],
  },
  scopes: offline ? ["openid", "offline_access"] : ["openid"],
  conformIdTokenClaims: !claimsInIdToken,
  cookies: { keys: ["a key of the peer"] },
  features: {
    revocation: { enabled: true, allowedPolicy: async () => true },
  },
  findAccount: (_ctx: unknown, login: string) =>
    people[login] && {
      accountId: login,
      claims: async () => ({ sub: login, ...people[login] }),
    },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: {
    AccessToken: lifetimeSeconds,
    AuthorizationCode: 60,
    Grant: 86_400,
    IdToken: 600,
    Interaction: 600,
    RefreshToken: 86_400,
    Session: 86_400,
  },
});

export interface Stored {
  grantId?: string;
  uid?: string;
  consumed?: number;
}

/** Rows in memory, by model and ID. */
export function adapterOver(kept: Map<string, Map<string, Stored>>) {
  return class {
    readonly #rows: Map<string, Stored>;
    constructor(model: string) {
      this.#rows = kept.get(model) ?? new Map();
      kept.set(model, this.#rows);
    }
    async upsert(id: string, row: Stored) {
      this.#rows.set(id, row);
    }
    async find(id: string) {
      return this.#rows.get(id);
    }
    async findByUid(uid: string) {
      return [...this.#rows.values()].find((row) => row.uid === uid);
    }
    async findByUserCode() {
      return undefined;
    }
    async consume(id: string) {
      const row = this.#rows.get(id);
      if (row) row.consumed = Math.floor(Date.now() / 1000);
    }
    async destroy(id: string) {
      this.#rows.delete(id);
    }
    async revokeByGrantId(grantId: string) {
      for (const rows of kept.values()) {
        for (const [id, row] of rows) if (row.grantId === grantId) rows.delete(id);
      }
    }
  };
}

/** It warns about its runtime and test settings, both of which are intended. */
export async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { info, warn } = console;
  Object.assign(console, { info: () => undefined, warn: () => undefined });
  try {
    return await work();
  } finally {
    Object.assign(console, { info, warn });
  }
}
