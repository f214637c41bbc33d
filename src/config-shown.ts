import { withoutSecrets } from "./base/setting.ts";
import { type Config, SECRETS, SETTINGS, type Secrets, schemeOf } from "./config.ts";

/** Settings for `weir config`: each name and value, as an operator would set it. */
export function describeConfig(config: Config, secrets: Secrets): [name: string, value: string][] {
  const { host, port, apiRate } = config;
  const shown = {
    ...config,
    baseUrl: config.baseUrl ?? `${schemeOf(config)}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    apiRate: apiRate === null ? "off" : `${apiRate.perMinute}:${apiRate.burst}`,
  };
  return [
    ...Object.entries(SETTINGS).map(([key, { env }]): [string, string] => [
      env,
      shownText(shown[key as keyof Config]),
    ]),
    ...Object.entries(SECRETS).map(([key, name]): [string, string] => [
      name,
      masked(key, secrets[key as keyof Secrets]),
    ]),
  ];
}

/** Lists are joined with commas, as they are set. URLs are shown without credentials. */
const shownText = (value: unknown): string =>
  typeof value === "string" ? withoutSecrets(value) : String(value ?? "");

/** In a URL, only the password is masked. */
const masked = (key: string, secret: string | null): string =>
  secret === null
    ? ""
    : ["smtpUrl", "egressProxy"].includes(key)
      ? secret.replace(/:[^:@]*@/, ":***@")
      : "***";
