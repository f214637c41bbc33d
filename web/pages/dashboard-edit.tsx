import { useMemo } from "react";
import { useLocation } from "wouter";
import type { Dashboard } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { changesOf } from "../parts/base/changes.ts";
import { Failed, Loading, Shown } from "../parts/base/page.tsx";
import { bodyOf, draftOf } from "../parts/dashboards/draft.ts";
import { DashboardEditor } from "../parts/dashboards/editor.tsx";
import { pathOf, useDashboard } from "../parts/dashboards/found.ts";
import { Held } from "../parts/layout/detail.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { t } from "../texts/text.ts";

export default function DashboardEdit({ id }: { id: string }) {
  const { dashboard, isMissing, error, again } = useDashboard(id);
  if (dashboard)
    return (
      <MembersOnly title={t("You need the member role to edit dashboards")}>
        <Current id={dashboard.id} />
      </MembersOnly>
    );
  if (isMissing) return <Failed error={new Error(t("Dashboard not found."))} />;
  return error ? <Failed error={error} again={again} isPage /> : <Loading />;
}

function Current({ id }: { id: string }) {
  const dashboard = useApi("GET /api/v1/dashboards/{dashboard_id}", { path: { dashboard_id: id } });
  return (
    <Shown of={dashboard} isPage>
      {(data) => <Held of={data}>{(base, onDirty) => <Edit dashboard={base} onDirty={onDirty} />}</Held>}
    </Shown>
  );
}

function Edit({ dashboard, onDirty }: { dashboard: Dashboard; onDirty: (isDirty: boolean) => void }) {
  const [, go] = useLocation();
  const start = useMemo(() => draftOf(dashboard), [dashboard]);
  const path = pathOf(dashboard);
  const save = useChange("PATCH /api/v1/dashboards/{dashboard_id}", {
    basedOn: dashboard,
    touches: ["/dashboards"],
    done: t("Dashboard saved"),
    onDone: (saved) => go(pathOf(saved)),
    tellsErrors: false,
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
      onDirty={onDirty}
      onSave={(draft) =>
        save.mutate({ path: { dashboard_id: dashboard.id }, body: changesOf(bodyOf(start), bodyOf(draft)) })
      }
    />
  );
}
