import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useLocation } from "wouter";
import { callTagged } from "../api.ts";
import type { Dashboard } from "../calls.ts";
import { useChange } from "../data.ts";
import { Failed, Loading, Shown } from "../parts/base/page.tsx";
import { bodyOf, draftOf } from "../parts/dashboards/draft.ts";
import { DashboardEditor } from "../parts/dashboards/editor.tsx";
import { pathOf, useDashboard } from "../parts/dashboards/found.ts";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { t } from "../texts/text.ts";

export default function DashboardEdit({ id }: { id: string }) {
  const { dashboard, isMissing, error, again } = useDashboard(id);
  if (dashboard)
    return (
      <MembersOnly title={t("You need the member role to edit dashboards")}>
        <Tagged id={dashboard.id} />
      </MembersOnly>
    );
  if (isMissing) return <Failed error={new Error(t("Dashboard not found."))} />;
  return error ? <Failed error={error} again={again} isPage /> : <Loading />;
}

/** Captures the state when editing begins, so that another user's change isn't overwritten unnoticed. */
function Tagged({ id }: { id: string }) {
  const tagged = useQuery({
    queryKey: ["dashboard to edit", id],
    queryFn: () => callTagged("GET /api/v1/dashboards/{dashboard_id}", { path: { dashboard_id: id } }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <Shown of={tagged} isPage>
      {({ reply, etag }) => <Edit dashboard={reply} etag={etag} />}
    </Shown>
  );
}

function Edit({ dashboard, etag }: { dashboard: Dashboard; etag: string | null }) {
  const [, go] = useLocation();
  const start = useMemo(() => draftOf(dashboard), [dashboard]);
  const path = pathOf(dashboard);
  const save = useChange("PATCH /api/v1/dashboards/{dashboard_id}", {
    touches: ["/dashboards"],
    done: t("Dashboard saved"),
    onDone: (saved) => go(pathOf(saved)),
    tellsErrors: false,
    ...(etag === null ? {} : { headers: { "if-match": etag } }),
  });
  return (
    <DashboardEditor
      start={start}
      title={t("Edit {name}", { name: dashboard.name })}
      from={[
        ["/dashboards", t("Dashboards")],
        [path, dashboard.name],
      ]}
      saving={save}
      onSave={(draft) => save.mutate({ path: { dashboard_id: dashboard.id }, body: bodyOf(draft) })}
    />
  );
}
