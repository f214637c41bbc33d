import type { Automation } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { inText } from "../base/status.tsx";
import { shortly } from "../base/time.tsx";
import type { Values } from "../form/form.tsx";

/** Number of latest inputs to offer. */
const MOST = 6;
const LOOKED_AT = 20;

/** An input to choose for a run. `runId` names the run that had it. */
export interface KnownInput {
  readonly id: string;
  readonly title: string;
  readonly at: string | null;
  readonly runId: string | null;
  /** Undefined if it has to be fetched. */
  readonly value?: unknown;
}

const DELIVERY = "delivery:";
export const PINNED = "pinned";

/** Pinned inputs, webhook payloads and inputs of manual runs, latest first. */
export function useKnownInputs(automation: Automation, config: Values): readonly KnownInput[] {
  const isWebhook = automation.triggerType === "webhook";
  const path = { automation_id: automation.id };
  const runs = useApi("GET /api/v1/automations/{automation_id}/runs", { path, query: { limit: LOOKED_AT } });
  const deliveries = useApi(
    "GET /api/v1/webhook-deliveries",
    { query: { ...path, limit: LOOKED_AT } },
    { enabled: isWebhook },
  );
  const brought = (deliveries.data?.items ?? [])
    // Processed payloads are deleted, unless the automation keeps them.
    .filter(({ status }) => config.debug === true || status !== "processed")
    .map(({ id, receivedAt, status, automationRunId }) => ({
      id: `${DELIVERY}${id}`,
      title: t("Delivery of {time}, {status}", { time: shortly(receivedAt), status: inText(status) }),
      at: receivedAt,
      runId: automationRunId,
    }));
  const seen = new Set<string>();
  const inputs = (runs.data?.runs ?? []).flatMap(({ id, input, createdAt }) => {
    const text = JSON.stringify(input);
    if (input === null || seen.has(text)) return [];
    seen.add(text);
    return [
      {
        id: `run:${id}`,
        title: t("Input of the run of {time}", { time: shortly(createdAt) }),
        at: createdAt,
        runId: id,
        value: input as unknown,
      },
    ];
  });
  const title = isWebhook ? t("Pinned payload") : t("Pinned input");
  const { pinnedInput } = config;
  return [
    ...(pinnedInput === undefined ? [] : [{ id: PINNED, title, at: null, runId: null, value: pinnedInput }]),
    ...[...brought, ...inputs].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, MOST),
  ];
}

/** Value of the selected input. `undefined` while it is loading. `isGone` if it is no longer stored. */
export function useValueOf(known: KnownInput | null): {
  value: unknown;
  isGone: boolean;
  error: Error | null;
} {
  const id = known?.id.startsWith(DELIVERY) ? known.id.slice(DELIVERY.length) : "";
  const delivery = useApi(
    "GET /api/v1/webhook-deliveries/{delivery_id}",
    { path: { delivery_id: id } },
    { enabled: id !== "" },
  );
  if (id === "") return { value: known?.value, isGone: false, error: null };
  const isGone = delivery.data !== undefined && delivery.data.headers === null;
  return { value: isGone ? undefined : delivery.data?.payload, isGone, error: delivery.error };
}
