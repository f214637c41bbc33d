import { useState } from "react";
import { useLocation } from "wouter";
import type { Template } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useActionKinds } from "../base/action-kinds.ts";
import { useProviders } from "../base/providers.ts";
import { ConnectionChoice } from "../connections/choice.tsx";
import { sourceOf } from "../connections/from-template.ts";
import { NewConnectionForm } from "../connections/new.tsx";
import { FormFrame, messagesBy, NameFields } from "../form/frame.tsx";

/** Form that creates a connection or an action from a published template. */
export function TemplateUse({ template }: { template: Template }) {
  return template.templateType === "connection" ? (
    <NewConnection template={template} />
  ) : (
    <NewAction template={template} />
  );
}

function NewConnection({ template }: { template: Template }) {
  const providers = useProviders();
  return (
    <NewConnectionForm
      source={sourceOf(template)}
      name={template.displayName}
      redirectUri={providers.data?.redirectUri ?? null}
    />
  );
}

function NewAction({ template }: { template: Template }) {
  const [, go] = useLocation();
  const [named, setNamed] = useState({ name: template.displayName, slug: "" });
  const [connectionId, setConnectionId] = useState("");
  const kinds = useActionKinds();
  const kind = kinds.data?.kinds.find((each) => each.kind === template.kind);
  const create = useChange("POST /api/v1/actions", {
    touches: ["/actions"],
    tellsErrors: false,
    done: ({ name }) => t("{name} created", { name }),
    onDone: ({ id }) => go(`/actions/${id}`),
  });
  const messageFor = messagesBy(create.error);
  return (
    <FormFrame
      title={t("New action")}
      call={create}
      drawn={["name", "slug", "connectionId"]}
      isReady={kind !== undefined}
      verb={t("Create action")}
      onSend={() =>
        create.mutate({
          body: {
            kind: template.kind as never,
            name: named.name,
            templateId: template.id,
            ...(named.slug ? { slug: named.slug } : {}),
            ...(connectionId ? { connectionId } : {}),
          },
        })
      }
    >
      <p className="mb-4 text-sm text-soft">
        {t(
          "The action gets the template's definition with the default inputs. You can edit it on the action's page. Bundles ask for the inputs in a form.",
        )}
      </p>
      <NameFields value={named} onChange={setNamed} messageFor={messageFor} isNew>
        {kind && kind.providers.length > 0 && (
          <ConnectionChoice
            kind={kind}
            value={connectionId}
            onChange={setConnectionId}
            fault={messageFor("connectionId")}
          />
        )}
      </NameFields>
    </FormFrame>
  );
}
