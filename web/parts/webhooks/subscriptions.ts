import { useAll, useApi, useMay } from "../../data.ts";

/** Names of automations with webhooks by ID. */
export function useSubscriptions(): ReadonlyMap<string, string> {
  const automations = useAll(
    "GET /api/v1/automations",
    { trigger_type: "webhook" },
    (page) => page.automations,
  );
  return new Map(automations.data?.map(({ id, name }) => [id, name]));
}

/** URLs of subscriptions by ID, for admins. Only the first 200. */
export function useReceivers(): ReadonlyMap<string, string> {
  const may = useMay("admin");
  const webhooks = useApi("GET /api/v1/webhooks", { query: { limit: 200 } }, { enabled: may });
  return new Map(webhooks.data?.items.map(({ id, url }) => [id, url]));
}
