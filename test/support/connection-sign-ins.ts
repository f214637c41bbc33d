import { OAUTH_CLIENT, type startOAuthApi } from "../peers/oauth-api.ts";
import type { startApp } from "./app.ts";
import { published, schemaOf } from "./bundles.ts";
import { connect } from "./connections.ts";
import { surferOf } from "./sign-ins.ts";
import type { openSurfer } from "./surfer.ts";

type Started = Awaited<ReturnType<typeof startApp>>;
type Peer = Awaited<ReturnType<typeof startOAuthApi>>;

let count = 0;

/** The definition of a template whose users sign in at `peer`. */
export const signInTemplate = ({ origin }: Pick<Peer, "origin">, auth: object = {}) => ({
  slug: `signed-${++count}`,
  displayName: "An API to sign in to",
  templateType: "connection",
  definition: {
    http: {
      baseUrl: "{{config.baseUrl}}",
      auth: {
        type: "oauth2_authorization_code",
        authorizeUrl: `${origin}/authorize`,
        tokenUrl: `${origin}/token`,
        scopes: ["items:read", "items:write"],
        ...auth,
      },
      verify: { path: "/api/me" },
    },
    configSchema: schemaOf({ baseUrl: { type: "string", default: origin }, folder: { type: "string" } }),
    credentialsSchema: schemaOf({ clientId: { type: "string" }, clientSecret: { type: "string" } }),
  },
});

/** A connection that requires a user's sign-in. */
export async function addSigned({ owner }: Started, peer: Peer, auth: object = {}) {
  const { id } = await published(owner, signInTemplate(peer, auth));
  return connect(owner, { name: `Signed ${++count}`, templateId: id, credentials: OAUTH_CLIENT });
}

const surfers = new WeakMap<Started, Promise<ReturnType<typeof openSurfer>>>();

/** The owner's browser, the same each time: only a few sign-ins per minute are allowed. */
export function ownerSurfer(weir: Started) {
  const surfer = surfers.get(weir) ?? surferOf(weir);
  surfers.set(weir, surfer);
  return surfer;
}

export const authorize = ({ owner }: Started, id: string) =>
  owner("POST", `/api/v1/connections/${id}/authorize`);

/** The owner's complete sign-in at the other system, from the connection's page and back. */
export async function signInFor(weir: Started, id: string, consent: string | null = null) {
  const begun = await authorize(weir, id);
  if (begun.status !== 200) throw new Error(begun.text);
  const surfer = await ownerSurfer(weir);
  const address = new URL(begun.body.authorizationUrl);
  if (consent !== null) address.pathname = consent; // Where the peer's own page leads to.
  const landing = await surfer.go(address.href, null, {
    turn: (url) => (url.pathname.startsWith("/connections/") ? null : url),
  });
  return { begun: begun.body, landing, surfer };
}

export const signInStateOf = async ({ owner }: Started, id: string) =>
  (await owner("GET", `/api/v1/connections/${id}/sign-in`)).body;
