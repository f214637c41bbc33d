import { useLocation } from "wouter";
import { useChange } from "../data.ts";
import { bodyOf, EMPTY } from "../parts/dashboards/draft.ts";
import { DashboardEditor } from "../parts/dashboards/editor.tsx";
import { pathOf } from "../parts/dashboards/found.ts";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { t } from "../texts/text.ts";

export default function DashboardNew() {
  const [, go] = useLocation();
  const create = useChange("POST /api/v1/dashboards", {
    touches: ["/dashboards"],
    done: t("Dashboard created"),
    onDone: (dashboard) => go(pathOf(dashboard)),
    tellsErrors: false,
  });
  return (
    <MembersOnly title={t("You need the member role to create dashboards")}>
      <DashboardEditor
        start={EMPTY}
        title={t("New dashboard")}
        from={[["/dashboards", t("Dashboards")]]}
        saving={create}
        onSave={(draft) => create.mutate({ body: bodyOf(draft) })}
      />
    </MembersOnly>
  );
}
