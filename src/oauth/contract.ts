/** Parameters of an authorization address that Weir writes itself. */
export const RESERVED = [
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "redirect_uri",
  "response_type",
  "state",
] as const;

/** How one outside system lets a person in, so that Weir may act for them there (RFC 6749, authorization code). */
export interface SignInTerms {
  authorizeUrl: string;
  tokenUrl: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** How the client shows who it is: by Basic authentication, or in the body. */
  tokenAuth: "basic" | "body";
  scopes: readonly string[];
  /** Whether the code is guarded by PKCE with S256. */
  pkce: boolean;
  /** Further parameters of the address that the person goes to. */
  extraParams: Readonly<Record<string, string>>;
  /** What the address shows in the place of `client_id`. */
  shownClient?: { name: string; value: string };
  /** The name of the code in the answer, where it is another than `code`. */
  codeName?: string;
}

/** The token of a connection's sign-in; one renewal serves all runs and processes. */
export interface SignInTokens {
  /**
   * A token that works by all that is known. `refused` is one that the other side turned down; `isRefused` says so of the
   * one that was given last. Throws `upstream`, with `details.refusal` where a person has to sign in (again).
   */
  token(options?: { refused?: string | undefined; isRefused?: boolean }): Promise<string>;
}
