import { LayoutDashboard } from "lucide-react";
import { useLocation } from "wouter";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { pathOf } from "./found.ts";

/** Creates a dashboard from panels that a run created. It queries their data again. */
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
