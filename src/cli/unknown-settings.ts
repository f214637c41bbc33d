import { nearest } from "../base/nearest.ts";
import { SECRETS, SETTINGS } from "../config.ts";

/** Used by client commands, and for building an executable. */
const OTHERS = ["WEIR_SERVER", "WEIR_TOKEN", "WEIR_ORG", "WEIR_RELEASE_KEY", "WEIR_COMMIT"];

/** Variables that Kubernetes sets in containers if there is a service named weir. */
const OF_KUBERNETES = /^WEIR_(SERVICE_(HOST|PORT)|PORT_\d+_)/;

/** Returns a warning for each environment variable that looks like a setting but isn't. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.values(SETTINGS).map((setting) => setting.env), ...Object.values(SECRETS)].filter(
    (name) => name.startsWith("WEIR_"),
  );
  return Object.keys(env)
    .filter((name) => name.startsWith("WEIR_") && !OF_KUBERNETES.test(name))
    .filter((name) => ![...known, ...OTHERS].includes(name))
    .map((name) => `Unknown setting ${name} ignored. Did you mean ${nearest(name, known)}?`);
}
