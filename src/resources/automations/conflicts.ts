import type { Fault } from "../../base/errors.ts";
import { PRESETS } from "../../crypto/presets.ts";
import type { AutomationConfig } from "./config.ts";
import { isPublicKey, isSigned } from "./sender.ts";
import type { TriggerType } from "./table.ts";

/** Returns conflicts between fields of a config, and missing required ones. Each field's shape is already valid. */
export function conflictFaults(
  trigger: TriggerType,
  config: AutomationConfig,
  loc: readonly string[],
): Fault[] {
  const { signaturePreset, signatureHeader, signatureAlgorithm = "sha256", expect, secret, auth } = config;
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
  if (signaturePreset !== undefined && auth !== undefined && auth.type !== "signature")
    fail("auth", `The preset ${signaturePreset} defines how its sender authenticates; omit this`);
  const { secret: taken } = signaturePreset === undefined ? {} : PRESETS[signaturePreset];
  if (taken && secret !== undefined && !taken.pattern.test(secret)) fail("secret", taken.message);
  if (config.requireTimestamp !== undefined && (signaturePreset !== undefined || !isSigned(config)))
    fail("requireTimestamp", "Only a webhook with Weir's own signature accepts this; omit it");
  if (auth && auth.type !== "signature" && (signatureHeader ?? config.signatureAlgorithm) !== undefined)
    fail("auth", `signatureHeader and signatureAlgorithm are for signatures, not for ${auth.type}`);
  if (auth?.type === "ed25519" && !isPublicKey(auth.publicKey))
    faults.push({
      loc: [...loc, "auth", "publicKey"],
      msg: "Input should be an Ed25519 public key: 32 bytes in hex or base64, or PEM",
      type: "value_error",
    });
  for (const { field, msg } of headerFaults(auth))
    faults.push({ loc: [...loc, "auth", field], msg, type: "value_error" });
  if (expect && expect.maxSilenceSeconds === undefined && expect.minRows === undefined)
    fail("expect", "Give maxSilenceSeconds, minRows or both", "missing");
  if (secret !== undefined && !needsSecret(trigger, config))
    fail(
      "secret",
      "This signs webhooks and notices; set expect.notifyUrl or alerts too, or omit it",
      "extra_forbidden",
    );
  return faults;
}

/** Headers with another meaning. As proof of the sender, they would accept all requests or none. */
const TAKEN =
  /^(?:host|content-type|content-length|transfer-encoding|connection|idempotency-key|webhook-id)$/i;

function headerFaults(auth: AutomationConfig["auth"]): { field: string; msg: string }[] {
  const headers = { name: undefined, signatureHeader: undefined, timestampHeader: undefined, ...auth };
  const { name, signatureHeader, timestampHeader } = headers;
  const faults = Object.entries({ name, signatureHeader, timestampHeader }).flatMap(([field, header]) =>
    header !== undefined && TAKEN.test(header)
      ? [{ field, msg: `The header ${header} is used for something else; choose another one` }]
      : [],
  );
  const isOne =
    timestampHeader !== undefined && timestampHeader.toLowerCase() === signatureHeader?.toLowerCase();
  return isOne
    ? [
        ...faults,
        { field: "timestampHeader", msg: "The time must be in a different header than the signature" },
      ]
    : faults;
}

/** Whether incoming requests or outgoing notices are signed. */
export const needsSecret = (trigger: TriggerType, config: AutomationConfig): boolean =>
  (trigger === "webhook" && isSigned(config)) ||
  [config.expect?.notifyUrl, config.alerts?.notifyUrl].some((url) => url !== undefined) ||
  (config.alerts?.notify ?? []).some(({ url }) => url !== undefined);
