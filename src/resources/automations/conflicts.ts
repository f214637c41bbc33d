import type { Fault } from "../../base/errors.ts";
import { PRESETS } from "../../crypto/presets.ts";
import type { AutomationConfig } from "./config.ts";
import type { TriggerType } from "./table.ts";

/** Fields of a config that exclude or need one another; each of them has its shape. */
export function conflictFaults(
  trigger: TriggerType,
  config: AutomationConfig,
  loc: readonly string[],
): Fault[] {
  const { signaturePreset, signatureHeader, signatureAlgorithm = "sha256", expect, secret } = config;
  const faults: Fault[] = [];
  const fail = (field: string, msg: string, type = "value_error") =>
    faults.push({ loc: [...loc, field], msg, type });

  if (signaturePreset !== undefined) {
    const { header } = PRESETS[signaturePreset];
    if (signatureHeader !== undefined && signatureHeader.toLowerCase() !== header.toLowerCase())
      fail("signatureHeader", `The preset ${signaturePreset} has the header ${header}; leave this out`);
    if (signatureAlgorithm !== "sha256")
      fail("signatureAlgorithm", `The preset ${signaturePreset} has sha256; leave this out`);
  }
  if (expect && expect.maxSilenceSeconds === undefined && expect.minRows === undefined)
    fail("expect", "Give maxSilenceSeconds, minRows or both", "missing");
  if (secret !== undefined && !needsSecret(trigger, config))
    fail("secret", "This signs webhooks and notices; give expect.notifyUrl too", "extra_forbidden");
  return faults;
}

/** True where requests come in that are signed, or notices go out. */
export const needsSecret = (trigger: TriggerType, { expect }: AutomationConfig): boolean =>
  trigger === "webhook" || expect?.notifyUrl !== undefined;
