import { LayoutDashboard } from "lucide-react";
import { useLocation } from "wouter";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { pathOf } from "./found.ts";

/** Makes a dashboard, which queries its data anew, of the panels that a run made. */
export function SaveAsDashboard({ artifactId }: { artifactId: string }) {
  const [, go] = useLocation();
  const create = useChange("POST /api/v1/dashboards", {
    touches: ["/dashboards"],
    done: t("Dashboard created"),
    onDone: (dashboard) => go(pathOf(dashboard)),
  });
  return (
    <Button
      icon={LayoutDashboard}
      busy={create.isPending}
      onClick={() => create.mutate({ body: { fromArtifactId: artifactId } })}
    >
      {t("Save as dashboard")}
    </Button>
  );
}
