/** Parameters of an authorization URL that Weir sets itself. */
export const RESERVED = [
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "redirect_uri",
  "response_type",
  "state",
] as const;

/** How a user signs in to an external system on Weir's behalf (RFC 6749, authorization code). */
export interface SignInTerms {
  authorizeUrl: string;
  tokenUrl: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** Client authentication: Basic, or in the body. */
  tokenAuth: "basic" | "body";
  scopes: readonly string[];
  /** Whether to use PKCE with S256. */
  pkce: boolean;
  /** Additional parameters of the authorization URL. */
  extraParams: Readonly<Record<string, string>>;
  /** Parameter of the URL that replaces `client_id`. */
  shownClient?: { name: string; value: string };
  /** The name of the code parameter in the response, if it isn't `code`. */
  codeName?: string;
}

/** The token of a connection's sign-in; all runs and processes share one renewal. */
export interface SignInTokens {
  /**
   * A valid token. `refused` is one that the external system rejected; `isRefused` says the same of the last one
   * returned. Throws `upstream`, with `details.refusal` if the user has to sign in (again).
   */
  token(options?: { refused?: string | undefined; isRefused?: boolean }): Promise<string>;
}
