import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { findAutomation } from "../../flows/find.ts";
import { slackAddressesIn, slackAddressOf } from "../notices/slack-addresses.ts";
import { findVersion } from "../versions/service.ts";
import { configChange, updateAutomation } from "./service.ts";
import type { AutomationRow } from "./table.ts";
import type { AutomationWithRun } from "./wire.ts";

/**
 * Makes a new version with the fields of an earlier one. Versions have no secrets, and the current ones may be for
 * something else: how a sender authenticates stays, and so do alerts if a Slack URL isn't stored any more.
 * Throws `not_found`, and what `updateAutomation` throws.
 */
export function restoreAutomation(ctx: Context, id: string, version: number): Promise<AutomationWithRun> {
  return write(ctx, async (tx) => {
    const { automation } = await findAutomation(tx, id);
    const { content } = await findVersion(tx, { type: "automation", id }, version);
    const { name, description, config } = content as Pick<AutomationRow, "name" | "description" | "config">;
    const isStored = slackAddressesIn(config).every(
      (address) => slackAddressOf(tx, automation, address) !== null,
    );
    const kept = isStored ? SENDER : [...SENDER, "alerts"];
    const wanted = withFieldsOf(automation.config, config, kept);
    return updateAutomation(tx, id, { name, description, config: configChange(automation.config, wanted) });
  });
}

/** How a webhook's sender authenticates. These fields depend on each other, and on the stored secret. */
const SENDER = ["auth", "signaturePreset", "signatureHeader", "signatureAlgorithm", "requireTimestamp"];

/** Returns `config` with these fields as they are in `current`. */
const withFieldsOf = (current: JsonObject, config: JsonObject, fields: readonly string[]): JsonObject => ({
  ...Object.fromEntries(Object.entries(config).filter(([name]) => !fields.includes(name))),
  ...Object.fromEntries(Object.entries(current).filter(([name]) => fields.includes(name))),
});
