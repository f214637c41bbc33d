import { Download } from "lucide-react";
import { useState } from "react";
import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { download } from "../base/download.ts";
import { notify } from "../base/toast.tsx";

/** Downloads automations as a file for `weir apply`. */
export function ExportAutomations({ of }: { of: readonly Automation[] }) {
  const [isBusy, setBusy] = useState(false);
  const take = async () => {
    setBusy(true);
    try {
      const { automationsAsYaml } = await import("./export.ts");
      const name = of.length === 1 && of[0] ? of[0].slug : "automations";
      download(`${name}.yaml`, new Blob([await automationsAsYaml(of)], { type: "application/yaml" }));
    } catch (error) {
      notify(error instanceof Error ? error.message : t("The download failed."), "bad");
    }
    setBusy(false);
  };
  return (
    <Button icon={Download} busy={isBusy} onClick={() => void take()}>
      <span className="max-sm:sr-only">{t("Export")}</span>
    </Button>
  );
}
