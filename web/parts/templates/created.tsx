import { useQueries } from "@tanstack/react-query";
import { Cable, type LucideIcon, Package, Workflow, Zap } from "lucide-react";
import { Link } from "wouter";
import { ApiError, call } from "../../api.ts";
import type { Template } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";

/** A resource that an install created. */
interface Made {
  key: string;
  entityType: string;
  entityId: string;
}

/** Maximum number of installs to read, latest first. */
const INSTALLS = 100;

export interface Install {
  id: string;
  at: string;
  by: string;
  slug: string;
  version: number;
  components: readonly Made[];
}

/** Installs here, latest first, from the audit log. */
export function useInstalls() {
  const events = useApi("GET /api/v1/events", {
    query: { type: "bundle.installed", limit: INSTALLS },
  });
  const installs = events.data?.items.map(({ id, timestamp, actor, data }): Install => {
    const { bundleSlug, version, components } = data as Record<string, unknown>;
    return {
      id,
      at: timestamp,
      by: actor.email ?? actor.type,
      slug: String(bundleSlug),
      version: Number(version),
      components: Array.isArray(components) ? (components as Made[]) : [],
    };
  });
  return installs ?? null;
}

const KINDS: Readonly<Record<string, { icon: LucideIcon; path: string; name: string }>> = {
  connection: { icon: Cable, path: "/connections/", name: t("Connection") },
  action: { icon: Zap, path: "/actions/", name: t("Action") },
  automation: { icon: Workflow, path: "/automations/", name: t("Automation") },
};

async function nameOf({ entityType, entityId }: Made, signal: AbortSignal): Promise<string> {
  if (entityType === "connection")
    return (
      await call("GET /api/v1/connections/{connection_id}", { path: { connection_id: entityId } }, { signal })
    ).name;
  if (entityType === "action")
    return (await call("GET /api/v1/actions/{action_id}", { path: { action_id: entityId } }, { signal }))
      .name;
  return (
    await call("GET /api/v1/automations/{automation_id}", { path: { automation_id: entityId } }, { signal })
  ).name;
}

/** Resources that an install created, with links. Deleted ones are marked. */
export function CreatedList({ of }: { of: readonly Made[] }) {
  const names = useQueries({
    queries: of.map((made) => ({
      queryKey: [`name of /${made.entityType}s`, made.entityId],
      queryFn: ({ signal }: { signal: AbortSignal }) => nameOf(made, signal),
      enabled: made.entityType in KINDS,
      retry: (count: number, error: Error) => count < 1 && !(error instanceof ApiError),
    })),
  });
  return (
    <ul>
      {of.map(({ key, entityType, entityId }, at) => {
        const {
          icon: Icon,
          path,
          name,
        } = KINDS[entityType] ?? {
          icon: Package,
          path: "",
          name: entityType.replaceAll("_", " "),
        };
        const { data, isError } = names[at] ?? {};
        const line = "flex items-center gap-3 px-4 py-2.5 text-sm";
        const inner = (
          <>
            <Icon size={15} aria-hidden className="shrink-0 text-soft" />
            <span className="min-w-0 grow truncate" dir="auto">
              {data ?? key}
            </span>
            <span className="text-xs text-soft">{isError ? t("deleted") : name}</span>
          </>
        );
        return (
          <li key={entityId} className="border-t border-line first:border-t-0">
            {isError || path === "" ? (
              <span className={`${line} text-soft`}>{inner}</span>
            ) : (
              <Link href={path + entityId} className={`${line} font-medium hover:bg-sunken/60`}>
                {inner}
              </Link>
            )}
          </li>
        );
      })}
    </ul>
  );
}

interface Component {
  key: string;
  type: string;
  name?: string;
}

/** Components of a bundle. */
export function componentsOf({ definition }: Pick<Template, "definition">): readonly Component[] {
  const { components } = definition as { components?: unknown };
  return Array.isArray(components) ? (components as Component[]) : [];
}

/** The resources that a bundle will create. */
export function ComponentList({ of }: { of: readonly Component[] }) {
  return (
    <ul className="space-y-1.5 text-sm">
      {of.map(({ key, type, name }) => {
        const { icon: Icon, name: noun } = KINDS[type] ?? { icon: Package, name: type.replaceAll("_", " ") };
        return (
          <li key={key} className="flex items-center gap-2.5">
            <Icon size={15} aria-hidden className="shrink-0 text-soft" />
            <span className="min-w-0 grow truncate" dir="auto">
              {name ?? key}
            </span>
            <span className="text-xs text-soft">{noun}</span>
          </li>
        );
      })}
    </ul>
  );
}
