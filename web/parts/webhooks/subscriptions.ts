import { useApi, useMay } from "../../data.ts";

/** Automations that webhooks start, by id; of the first hundred. */
export function useSubscriptions(): ReadonlyMap<string, string> {
  const automations = useApi("GET /api/v1/automations", {
    query: { trigger_type: "webhook", limit: 100 },
  });
  return new Map(automations.data?.automations.map(({ id, name }) => [id, name]));
}

/** Addresses of subscriptions, by id, for who may see them; of the first two hundred. */
export function useReceivers(): ReadonlyMap<string, string> {
  const may = useMay("admin");
  const webhooks = useApi("GET /api/v1/webhooks", { query: { limit: 200 } }, { enabled: may });
  return new Map(webhooks.data?.items.map(({ id, url }) => [id, url]));
}
