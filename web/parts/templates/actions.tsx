import { Archive, Package, Rocket, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Template } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button, IconButton, LinkButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";

/** A version is published, deprecated and deleted. */
export function TemplateActions({ template }: { template: Template }) {
  const [asked, setAsked] = useState<"delete" | "deprecate" | null>(null);
  const [, go] = useLocation();
  const path = { path: { template_id: template.id } };
  const touches = ["/templates", "/bundles"] as const;
  const close = () => setAsked(null);
  const publish = useChange("POST /api/v1/templates/{template_id}/publish", {
    touches,
    done: "Published: it can be installed now",
  });
  const deprecate = useChange("POST /api/v1/templates/{template_id}/deprecate", {
    touches,
    done: "Deprecated",
    onDone: close,
  });
  const remove = useChange("DELETE /api/v1/templates/{template_id}", {
    touches,
    done: `Deleted version ${template.version}`,
    onDone: () => go("/templates"),
  });
  return (
    <>
      <IconButton icon={Trash2} label="Delete this version" onClick={() => setAsked("delete")} />
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
            The other versions of {template.slug} stay. A version that something was made of, or that a bundle
            names, is not deleted: the API then says what uses it.
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
            Nothing new is made of it from now on, by hand or by a bundle. What was made of it goes on. This
            can't be undone; publish a new version instead.
          </p>
        </Confirm>
      )}
    </>
  );
}
