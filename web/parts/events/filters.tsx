import type { Entity } from "../../../src/resources/events/service.ts";
import type { AuditEvent, CallInput } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { named } from "../base/named.ts";
import { Choice, FilterBar, SearchField } from "../table/filters.tsx";
import { LinkedChip } from "../table/linked-chip.tsx";
import { PeriodChoice, periodOf } from "../table/period.tsx";
import type { Filters } from "../table/table.tsx";

const ACTORS = named<AuditEvent["actor"]["type"]>({
  user: t("Users"),
  api: t("API keys"),
  automation: t("Automations"),
  system: "Weir",
});

/** Common types to filter by. Links can use any other. */
const RESOURCES: readonly (readonly [Entity["type"], string])[] = [
  ["action", t("Action")],
  ["agent_spec", t("Agent")],
  ["api_key", t("API key")],
  ["artifact", t("Artifact")],
  ["automation", t("Automation")],
  ["bundle", t("Bundle")],
  ["connection", t("Connection")],
  ["dashboard", t("Dashboard")],
  ["dataset", t("Dataset")],
  ["dead_letter", t("Dead letter")],
  ["decision", t("Approval")],
  ["organization", t("Organization")],
  ["query", t("Saved query")],
  ["template", t("Template")],
  ["user", t("User")],
  ["webhook", t("Webhook")],
];

type ShownQuery = Omit<NonNullable<CallInput<"GET /api/v1/events">["query"]>, "limit" | "cursor" | "order">;

/** Query of the list of events, from the URL. */
export function eventQueryOf(filters: Filters): ShownQuery {
  const fields = {
    q: filters.get("q"),
    type: filters.get("type"),
    actorType: filters.get("actorType") as AuditEvent["actor"]["type"] | "",
    entityType: filters.get("entityType"),
    entityId: filters.get("entityId"),
    actorId: filters.get("actorId"),
    correlationId: filters.get("correlationId"),
    ...periodOf(filters),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value)) as ShownQuery;
}

/** Returns whether a new event matches the filters of the list. */
export function fits(event: AuditEvent, query: ShownQuery): boolean {
  const { q, type, entityType, entityId, actorType, actorId, correlationId, until } = query;
  const isType =
    !type || type === event.type || (type.endsWith("*") && event.type.startsWith(type.slice(0, -1)));
  const same = (wanted: string | undefined, is: string) => !wanted || wanted === is;
  return (
    isType &&
    same(entityType, event.entity.type) &&
    same(entityId, event.entity.id) &&
    same(actorType, event.actor.type) &&
    same(actorId, event.actor.id) &&
    same(correlationId, event.metadata.correlationId) &&
    (!until || Date.parse(event.timestamp) <= Date.parse(until)) &&
    (!q || hasText(event, q))
  );
}

/** Matches as the server does. */
function hasText({ data, actor, entity }: AuditEvent, q: string): boolean {
  const wanted = JSON.stringify(q).slice(1, -1).toLowerCase();
  const { type: _, id: __, ...shown } = actor;
  return [JSON.stringify(data), JSON.stringify(shown), entity.id].some((text) =>
    text.toLowerCase().includes(wanted),
  );
}

interface Props {
  filters: Filters;
  subjects: ReadonlyMap<string, string>;
}

export function EventFilters({ filters, subjects }: Props) {
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const types = meta.data?.eventTypes ?? [];
  const groups = [...new Set(types.map((type) => type.split(".")[0] ?? ""))];
  const resource = filters.get("entityType");
  const isListed = resource === "" || RESOURCES.some(([type]) => type === resource);
  return (
    <FilterBar onClear={filters.isAny && filters.clear}>
      <SearchField
        label={t("Name, email, ID or error")}
        value={filters.get("q")}
        onChange={(value) => filters.set("q", value)}
      />
      <PeriodChoice filters={filters} />
      <Choice
        label={t("Type")}
        value={filters.get("type")}
        options={groups.flatMap((group) => [
          [`${group}.*`, `${group}: all`] as const,
          ...types.filter((type) => type.startsWith(`${group}.`)).map((type) => [type, type] as const),
        ])}
        onChange={(value) => filters.set("type", value)}
      />
      <Choice
        label={t("Resource")}
        value={resource}
        options={isListed ? RESOURCES : [...RESOURCES, [resource, resource] as const]}
        onChange={(entityType) => filters.setAll({ entityType, entityId: "" })}
      />
      <Choice
        label={t("Actor")}
        value={filters.get("actorType")}
        options={ACTORS}
        onChange={(value) => filters.set("actorType", value)}
      />
      {(
        [
          ["entityId", t("Resource ID")],
          ["actorId", t("Actor ID")],
          ["correlationId", t("Correlation ID")],
        ] as const
      ).map(([name, title]) => (
        <LinkedChip
          key={name}
          filters={filters}
          name={name}
          title={title}
          shown={subjects.get(filters.get(name))}
        />
      ))}
    </FilterBar>
  );
}
