import { invalid } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { MASK } from "../../base/mask.ts";
import { maskedSlackUrl } from "../../base/slack-text.ts";
import type { App, WriteContext } from "../../context.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { type AutomationRow, notifyLabel } from "../automations/table.ts";

/** The Slack URLs of a config, as they are in it. */
export const slackAddressesIn = ({ alerts }: AutomationConfig): string[] =>
  alerts?.notify?.flatMap(({ slack }) => slack ?? []) ?? [];

/** A config as stored, and the Slack URLs from the request, some of them masked. */
export function withoutSlackSecrets(config: JsonObject): { config: JsonObject; addresses: string[] } {
  const { alerts } = config as AutomationConfig;
  const addresses = slackAddressesIn(config);
  if (addresses.length === 0) return { config, addresses };
  const notify = alerts?.notify?.map(({ slack, ...entry }) =>
    slack === undefined ? entry : { ...entry, slack: maskedSlackUrl(slack) },
  );
  return { config: { ...config, alerts: { ...alerts, notify } as JsonObject }, addresses };
}

/**
 * Returns the new `sealedNotify`: a masked URL keeps its previous value. Throws `invalid` for one that didn't exist.
 */
export function sealNotify(
  tx: WriteContext,
  at: Pick<AutomationRow, "id" | "organizationId">,
  addresses: readonly string[],
  before: string | null,
): string | null {
  const earlier = openNotify(tx, at, before);
  const left = [...earlier];
  const whole = addresses.map((address) => {
    if (!address.endsWith(`/${MASK}`)) return address;
    const found = left.findIndex((one) => maskedSlackUrl(one) === address);
    if (found >= 0) return left.splice(found, 1)[0] as string;
    const msg = `Give the complete Slack URL instead of ${address}`;
    throw invalid(["body", "config", "alerts", "notify"], msg, "missing");
  });
  if (JSON.stringify(whole) === JSON.stringify(earlier)) return before;
  return whole.length === 0 ? null : tx.secrets.seal(JSON.stringify(whole), notifyLabel(at));
}

/** Returns the config of an automation with complete Slack URLs, for a copy of it. */
export function withSlackSecrets(app: Pick<App, "secrets">, row: AutomationRow): JsonObject {
  const { alerts } = row.config as AutomationConfig;
  const left = openNotify(app, row, row.sealedNotify);
  const notify = alerts?.notify?.map((entry) =>
    entry.slack === undefined ? entry : { ...entry, slack: left.shift() ?? entry.slack },
  );
  return notify ? { ...row.config, alerts: { ...alerts, notify } as unknown as JsonObject } : row.config;
}

/** Returns the complete Slack URLs of an automation's alerts. */
function openNotify(
  app: Pick<App, "secrets">,
  at: Pick<AutomationRow, "id" | "organizationId">,
  sealed: string | null,
): string[] {
  return sealed === null ? [] : (JSON.parse(app.secrets.open(sealed, notifyLabel(at))) as string[]);
}

/** Returns the whole URL of a masked one. Null if it was removed. */
export const slackAddressOf = (app: App, row: AutomationRow, address: string): string | null =>
  openNotify(app, row, row.sealedNotify).find((one) => maskedSlackUrl(one) === address) ?? null;
