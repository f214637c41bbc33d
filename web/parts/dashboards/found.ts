import { useRef } from "react";
import { ApiError } from "../../api.ts";
import type { Dashboard } from "../../calls.ts";
import { useApi } from "../../data.ts";

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** Paths that aren't a dashboard's. */
const RESERVED = ["new"];
const LIMIT = 100;

/** Path of a dashboard, with its readable slug. */
export const pathOf = ({ id, slug }: Pick<Dashboard, "id" | "slug">): string =>
  `/dashboards/${RESERVED.includes(slug) || UUID.test(slug) ? id : slug}`;

interface Found {
  dashboard: Dashboard | null;
  /** True if it is known that there is none. */
  isMissing: boolean;
  error: Error | null;
  again: () => void;
}

/** The dashboard with this slug or ID. */
export function useDashboard(name: string): Found {
  const isId = UUID.test(name);
  const byId = useApi(
    "GET /api/v1/dashboards/{dashboard_id}",
    { path: { dashboard_id: name } },
    { enabled: isId },
  );
  const bySlug = useApi("GET /api/v1/dashboards", { query: { q: name, limit: LIMIT } }, { enabled: !isId });
  const found = isId ? byId.data : bySlug.data?.dashboards.find(({ slug }) => slug === name);
  const query = isId ? byId : bySlug;
  const isNone = query.error instanceof ApiError && query.error.status === 404;
  // A query has no error while it is retried, but what is shown instead of a dashboard must stay in the meantime.
  const missing = useRef<string | null>(null);
  if (isNone) missing.current = name;
  else if (!query.isPending && missing.current === name) missing.current = null;
  return {
    dashboard: found ?? null,
    isMissing: missing.current === name || (!isId && bySlug.isSuccess && found === undefined),
    error: isNone ? null : query.error,
    again: () => void query.refetch(),
  };
}
