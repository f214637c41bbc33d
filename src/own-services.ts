import type { OwnService } from "./base/egress-own.ts";
import type { Config, Secrets } from "./config.ts";

/**
 * Hosts and ports in the settings that Weir itself uses. The database and the mail server are blocked for organizations
 * at any address, since some trust every connection from this host. Others are blocked only at private addresses:
 * a public store, model or provider is open to everyone, and organizations don't get Weir's keys for it.
 */
export function ownServices(config: Config, secrets: Secrets): OwnService[] {
  const services: [setting: string, address: string | null, isAlways?: boolean][] = [
    ["WEIR_DATABASE_URL", config.databaseUrl, true],
    ["WEIR_SMTP_URL", secrets.smtpUrl, true],
    ["WEIR_LAKE_ENDPOINT", config.lakeEndpoint],
    ["WEIR_BACKUP_ENDPOINT", config.backupEndpoint],
    ["WEIR_LLM_BASE_URL", config.llmBaseUrl],
    ["ANTHROPIC_BASE_URL", config.anthropicBaseUrl],
    ["WEIR_OIDC_ISSUER", config.oidcIssuer],
    ["WEIR_SEARCH_URL", config.searchUrl],
    ["BRAVE_BASE_URL", config.braveUrl],
    ["TAVILY_BASE_URL", config.tavilyUrl],
  ];
  return services.flatMap(([setting, address, isAlways = false]) => {
    const url = address === null ? null : URL.parse(address);
    if (url === null) return [];
    const port = Number(url.port) || PORTS[url.protocol];
    return port === undefined ? [] : [{ setting, host: hostOf(url), port, isAlways }];
  });
}

const PORTS: Readonly<Record<string, number>> = {
  "http:": 80,
  "https:": 443,
  "libsql:": 443,
  "postgres:": 5432,
  "postgresql:": 5432,
  "smtp:": 587,
  "smtps:": 465,
};

/** Host in the form of an http URL: a name in lowercase, an address in canonical form. */
function hostOf({ hostname }: URL): string {
  const bare = URL.parse(`http://${hostname}/`)?.hostname ?? hostname;
  return bare.replace(/^\[|\]$|\.$/g, "");
}
