import { Archive, Package, Rocket, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Template } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button, IconButton, LinkButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { CANT_UNDO } from "../base/texts.ts";

/** A version is published, deprecated and deleted. */
export function TemplateActions({ template }: { template: Template }) {
  const [asked, setAsked] = useState<"delete" | "deprecate" | null>(null);
  const [, go] = useLocation();
  const path = { path: { template_id: template.id } };
  const touches = ["/templates", "/bundles"] as const;
  const close = () => setAsked(null);
  const publish = useChange("POST /api/v1/templates/{template_id}/publish", {
    touches,
    done: "Version published",
  });
  const deprecate = useChange("POST /api/v1/templates/{template_id}/deprecate", {
    touches,
    done: "Version deprecated",
    onDone: close,
  });
  const remove = useChange("DELETE /api/v1/templates/{template_id}", {
    touches,
    done: `Version ${template.version} deleted`,
    onDone: () => go("/templates"),
  });
  return (
    <>
      <IconButton icon={Trash2} label="Delete version" onClick={() => setAsked("delete")} />
      {template.status === "draft" && (
        <Button kind="main" icon={Rocket} busy={publish.isPending} onClick={() => publish.mutate(path)}>
          Publish
        </Button>
      )}
      {template.status === "published" && (
        <>
          <Button icon={Archive} onClick={() => setAsked("deprecate")}>
            Deprecate
          </Button>
          {template.templateType === "bundle" && (
            <LinkButton href={`/bundles/${template.id}`} kind="main" icon={Package}>
              Install
            </LinkButton>
          )}
        </>
      )}
      {asked === "delete" && (
        <Confirm
          title={`Delete version ${template.version}?`}
          verb="Delete"
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate(path, { onError: close })}
        >
          <p>
            {`The other versions of ${template.slug} are kept. A version that is in use can't be deleted.`}
          </p>
        </Confirm>
      )}
      {asked === "deprecate" && (
        <Confirm
          title={`Deprecate version ${template.version}?`}
          verb="Deprecate"
          isBusy={deprecate.isPending}
          onClose={close}
          onConfirm={() => deprecate.mutate(path, { onError: close })}
        >
          <p>
            {`This version can no longer be used for new installs. Existing resources keep working. ${CANT_UNDO}`}
          </p>
        </Confirm>
      )}
    </>
  );
}
