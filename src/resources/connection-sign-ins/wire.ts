import { type Static, Type } from "@sinclair/typebox";
import { instant, nullable, object, oneOf } from "../../base/shape.ts";
import type { SignInTerms } from "../../oauth/contract.ts";
import type { ConnectionSignIn } from "../connections/table.ts";

export const ConnectionSignInStarted = object({
  authorizationUrl: Type.String({
    description: "URL for the user to open, in a browser that is signed in to Weir as the same user",
  }),
  expiresAt: instant(),
  redirectUri: Type.String({ description: "Redirect URI to register with the external system's app" }),
  scopes: Type.Array(Type.String(), { description: "Requested scopes" }),
});
export type ConnectionSignInStarted = Static<typeof ConnectionSignInStarted>;

export const ConnectionSignInState = object({
  state: oneOf(["unneeded", "needed", "signed_in"], {
    description: "State of the sign-in. unneeded: the connection's credentials don't require one",
  }),
  redirectUri: Type.String({ description: "Redirect URI to register with the external system's app" }),
  scopes: Type.Array(Type.String(), { description: "Scopes that a sign-in requests" }),
  missingScopes: Type.Array(Type.String(), { description: "Requested scopes that were not granted" }),
  isRenewable: Type.Boolean({
    description:
      "Whether the token is renewed automatically. If false, a user must sign in again when it expires",
  }),
  expiresAt: nullable(instant()),
  signedInAt: nullable(instant()),
  signedInBy: nullable(Type.String()),
  problem: nullable(Type.String({ description: "Why a new sign-in is needed" })),
});
type ConnectionSignInState = Static<typeof ConnectionSignInState>;

/** Scopes that responses omit or spell differently even if they were granted. */
const UNTOLD = /^(openid|profile|email|offline_access|offline\.access)$/;

/** `https://graph.example.com/Mail.Read` and `mail.read` are the same scope. */
const nameOf = (scope: string) => scope.slice(scope.lastIndexOf("/") + 1).toLowerCase();

/** Returns the requested scopes that weren't granted. */
function missingScopes(scopes: readonly string[], { wantedScope, scope }: ConnectionSignIn): string[] {
  const granted = new Set((scope ?? wantedScope ?? "").split(" ").map(nameOf));
  return scopes.filter((each) => !UNTOLD.test(each) && !granted.has(nameOf(each)));
}

export function toView(
  redirectUri: string,
  terms: SignInTerms | null,
  row: ConnectionSignIn | null,
): ConnectionSignInState {
  const isSignedIn = terms !== null && row !== null && row.sealedTokens !== null;
  return {
    state: terms === null ? "unneeded" : isSignedIn ? "signed_in" : "needed",
    redirectUri,
    scopes: [...(terms?.scopes ?? [])],
    missingScopes: isSignedIn ? missingScopes(terms.scopes, row) : [],
    isRenewable: isSignedIn && row.isRenewable,
    expiresAt: row?.expiresAt ?? null,
    signedInAt: row?.signedInAt ?? null,
    signedInBy: row?.signedInBy ?? null,
    problem: row?.problem ?? null,
  };
}

const redirectUri = "https://weir.example.com/api/v1/connections/oauth/callback";

export const exampleStarted: ConnectionSignInStarted = {
  authorizationUrl: "https://accounts.example.com/authorize?client_id=weir&state=x",
  expiresAt: "2026-01-01T00:10:00.000Z",
  redirectUri,
  scopes: ["files.read"],
};

export const exampleView: ConnectionSignInState = {
  state: "signed_in",
  redirectUri,
  scopes: ["files.read"],
  missingScopes: [],
  isRenewable: true,
  expiresAt: "2026-01-01T01:00:00.000Z",
  signedInAt: "2026-01-01T00:00:00.000Z",
  signedInBy: "01890a5d-ac96-774b-bcce-b302099a8071",
  problem: null,
};
