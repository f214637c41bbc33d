/** The parts of oidc-provider that the peer uses; the package has no types of its own. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Account {
    accountId: string;
    claims(use: string, scope: string): Promise<Record<string, unknown>>;
  }

  export interface Token {
    accountId?: string;
    clientId: string;
    aud: string;
    scope?: string;
    isExpired: boolean;
  }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    use(
      middleware: (ctx: { path: string; method: string }, next: () => Promise<void>) => Promise<void>,
    ): void;
    on(event: string, listener: (...values: unknown[]) => void): void;
    readonly Account: Account;
    readonly AccessToken: { find(value: string): Promise<Token | undefined> };
    readonly ClientCredentials: { find(value: string): Promise<Token | undefined> };
  }
}
