import { nearest } from "../base/nearest.ts";
import { SECRETS, SETTINGS } from "../config.ts";

/** Read by commands that are a client, and by what builds an executable. */
const OTHERS = ["WEIR_SERVER", "WEIR_TOKEN", "WEIR_ORG", "WEIR_RELEASE_KEY", "WEIR_COMMIT"];

/** What Kubernetes tells every container of a service named weir. */
const OF_KUBERNETES = /^WEIR_(SERVICE_(HOST|PORT)|PORT_\d+_)/;

/** A sentence for each variable of the environment that is named as a setting would be, and is none. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.values(SETTINGS).map((setting) => setting.env), ...Object.values(SECRETS)].filter(
    (name) => name.startsWith("WEIR_"),
  );
  return Object.keys(env)
    .filter((name) => name.startsWith("WEIR_") && !OF_KUBERNETES.test(name))
    .filter((name) => ![...known, ...OTHERS].includes(name))
    .map((name) => `Unknown setting ${name} ignored. Did you mean ${nearest(name, known)}?`);
}
