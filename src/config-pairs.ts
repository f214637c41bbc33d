import { ConfigError } from "./base/config-error.ts";
import type { Config, Secrets } from "./config.ts";

/** Throws `ConfigError` for a setting that has no effect without another, which isn't set. */
export function refuseHalfSettings(config: Config, secrets: Secrets): void {
  if (secrets.secretKeyPrevious !== null && secrets.secretKey === null) {
    throw new ConfigError(
      "WEIR_SECRET_KEY_PREVIOUS is set without WEIR_SECRET_KEY. Set WEIR_SECRET_KEY to the new key, or unset the old one.",
    );
  }
  if ((config.tlsCert === null) !== (config.tlsKey === null)) {
    throw new ConfigError("Set both WEIR_TLS_CERT and WEIR_TLS_KEY, or neither.");
  }
  refusePartOfProvider(config, secrets);
  refusePartOfBucket(config, secrets);
  if ((secrets.smtpUrl === null) !== (config.mailFrom === null)) {
    const missing = secrets.smtpUrl === null ? "WEIR_SMTP_URL" : "WEIR_MAIL_FROM";
    throw new ConfigError(`Set both WEIR_SMTP_URL and WEIR_MAIL_FROM, or neither. ${missing} is missing.`);
  }
  if (config.backupUrl !== null && config.backupEvery === 0) {
    throw new ConfigError(
      "WEIR_BACKUP_URL has no effect without WEIR_BACKUP_EVERY. Set it to the hours between backups.",
    );
  }
  if (config.backupUrl !== null && (!secrets.backupAccessKeyId || !secrets.backupSecretAccessKey)) {
    throw new ConfigError(
      "WEIR_BACKUP_URL requires the keys of the bucket. Set WEIR_BACKUP_ACCESS_KEY_ID and WEIR_BACKUP_SECRET_ACCESS_KEY.",
    );
  }
  if (secrets.llmApiKey !== null && config.llmBaseUrl === null) {
    throw new ConfigError(
      "WEIR_LLM_API_KEY is set without WEIR_LLM_BASE_URL. Set it to the URL of the endpoint that the key is for.",
    );
  }
}

/** The three settings of the identity provider must be set together. */
function refusePartOfProvider(config: Config, { oidcClientSecret }: Secrets): void {
  const { oidcIssuer, oidcClientId } = config;
  const settings = {
    WEIR_OIDC_ISSUER: oidcIssuer,
    WEIR_OIDC_CLIENT_ID: oidcClientId,
    WEIR_OIDC_CLIENT_SECRET: oidcClientSecret,
  };
  if ((config.oidcGroupsClaim === null) !== (config.oidcGroupRoles.length === 0)) {
    const lacking = config.oidcGroupsClaim === null ? "WEIR_OIDC_GROUPS_CLAIM" : "WEIR_OIDC_GROUP_ROLES";
    throw new ConfigError(
      `Set both WEIR_OIDC_GROUPS_CLAIM and WEIR_OIDC_GROUP_ROLES, or neither. ${lacking} is missing.`,
    );
  }
  const missing = Object.entries(settings).filter(([, value]) => value === null);
  if (missing.length === 0 || missing.length === 3) return;
  const names = missing.map(([name]) => name).join(" and ");
  throw new ConfigError(
    `Set all of WEIR_OIDC_ISSUER, WEIR_OIDC_CLIENT_ID and WEIR_OIDC_CLIENT_SECRET, or none. Missing: ${names}.`,
  );
}

/** A bucket needs its keys. Keys or an endpoint without a bucket would be ignored silently. */
function refusePartOfBucket(config: Config, secrets: Secrets): void {
  const keys = {
    WEIR_LAKE_ACCESS_KEY_ID: secrets.lakeAccessKeyId,
    WEIR_LAKE_SECRET_ACCESS_KEY: secrets.lakeSecretAccessKey,
  };
  const rest = { WEIR_LAKE_ENDPOINT: config.lakeEndpoint, WEIR_LAKE_REGION: config.lakeRegion };
  const missing = Object.entries(keys).find(([, value]) => value === null)?.[0];
  const lonely = Object.entries({ ...keys, ...rest }).find(([, value]) => value !== null)?.[0];
  if (config.lakeUrl !== null && missing !== undefined)
    throw new ConfigError(`WEIR_LAKE_URL requires the keys of the bucket. Set ${missing}.`);
  if (config.lakeUrl === null && lonely !== undefined)
    throw new ConfigError(`${lonely} is set without WEIR_LAKE_URL. Set it to s3://BUCKET/PREFIX.`);
}
