import { Archive, Package, Rocket, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Template } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton, LinkButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { cantUndo } from "../base/texts.ts";

/** Publishes, deprecates and deletes a version. */
export function TemplateActions({ template }: { template: Template }) {
  const [dialog, setDialog] = useState<"delete" | "deprecate" | null>(null);
  const [, go] = useLocation();
  const path = { path: { template_id: template.id } };
  const touches = ["/templates", "/bundles"] as const;
  const close = () => setDialog(null);
  const publish = useChange("POST /api/v1/templates/{template_id}/publish", {
    touches,
    done: t("Version published"),
  });
  const deprecate = useChange("POST /api/v1/templates/{template_id}/deprecate", {
    touches,
    done: t("Version deprecated"),
    onDone: close,
  });
  const remove = useChange("DELETE /api/v1/templates/{template_id}", {
    touches,
    done: t("Version {version} deleted", { version: template.version }),
    onDone: () => go("/templates"),
  });
  return (
    <>
      <IconButton icon={Trash2} label={t("Delete version")} onClick={() => setDialog("delete")} />
      {template.status === "draft" && (
        <Button kind="main" icon={Rocket} busy={publish.isPending} onClick={() => publish.mutate(path)}>
          {t("Publish")}
        </Button>
      )}
      {template.status === "published" && (
        <>
          <Button icon={Archive} onClick={() => setDialog("deprecate")}>
            {t("Deprecate")}
          </Button>
          {template.templateType === "bundle" && (
            <LinkButton href={`/bundles/${template.id}`} kind="main" icon={Package}>
              {t("Install")}
            </LinkButton>
          )}
        </>
      )}
      {dialog === "delete" && (
        <Confirm
          title={t("Delete version {version}?", { version: template.version })}
          verb={t("Delete")}
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate(path, { onError: close })}
        >
          <p>
            {t("The other versions of {slug} are kept. A version that is in use can't be deleted.", {
              slug: template.slug,
            })}
          </p>
        </Confirm>
      )}
      {dialog === "deprecate" && (
        <Confirm
          title={t("Deprecate version {version}?", { version: template.version })}
          verb={t("Deprecate")}
          isBusy={deprecate.isPending}
          onClose={close}
          onConfirm={() => deprecate.mutate(path, { onError: close })}
        >
          <p>
            {t(
              "This version can no longer be used for new installs. Existing resources keep working. {cantUndo}",
              { cantUndo: cantUndo() },
            )}
          </p>
        </Confirm>
      )}
    </>
  );
}
