import { useState } from "react";
import { useLocation } from "wouter";
import { call } from "../../api.ts";
import type { Schema, Template } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { Section } from "../base/page.tsx";
import { ConnectionChoice } from "../connections/choice.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { FormFrame, faultsOf, messagesBy, NameFields } from "../form/frame.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";

/** The form that makes a connection or an action of a published template. */
export function TemplateUse({ template }: { template: Template }) {
  return template.templateType === "connection" ? (
    <NewConnection template={template} />
  ) : (
    <NewAction template={template} />
  );
}

const asSchema = (value: unknown): Schema =>
  typeof value === "object" && value !== null ? (value as Schema) : {};

function NewConnection({ template }: { template: Template }) {
  const [, go] = useLocation();
  const configSchema = asSchema(template.definition.configSchema);
  const credentialsSchema = asSchema(template.definition.credentialsSchema);
  const [named, setNamed] = useState({ name: template.displayName, slug: "" });
  const [config, setConfig] = useState<Values>(() => startValue(configSchema));
  const [credentials, setCredentials] = useState<Values>({});
  const create = useChange("POST /api/v1/connections", {
    touches: ["/connections"],
    tellsErrors: false,
    async onDone({ id }) {
      // The page of the connection shows how that went.
      await call("POST /api/v1/connections/{connection_id}/verify", { path: { connection_id: id } }).catch(
        () => null,
      );
      go(`/connections/${id}`);
    },
  });
  const faults = faultsOf(create.error);
  return (
    <FormFrame
      title="New connection"
      call={create}
      drawn={["name", "slug", "config", "credentials"]}
      verb="Create and verify"
      onSend={() =>
        create.mutate({
          body: {
            name: named.name,
            templateId: template.id,
            config: config as never,
            credentials: credentials as Record<string, string>,
            ...(named.slug ? { slug: named.slug } : {}),
          },
        })
      }
      more={
        propertiesOf(credentialsSchema).length > 0 && (
          <Section title="Credentials" aside="Stored encrypted; never shown again">
            <SchemaForm
              schema={credentialsSchema}
              value={credentials}
              onChange={setCredentials}
              at={["body", "credentials"]}
              faults={faults}
            />
          </Section>
        )
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messagesBy(create.error)} isNew />
      <SchemaForm
        schema={configSchema}
        value={config}
        onChange={setConfig}
        at={["body", "config"]}
        faults={faults}
      />
    </FormFrame>
  );
}

function NewAction({ template }: { template: Template }) {
  const [, go] = useLocation();
  const [named, setNamed] = useState({ name: template.displayName, slug: "" });
  const [connectionId, setConnectionId] = useState("");
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const kind = kinds.data?.kinds.find((each) => each.kind === template.kind);
  const create = useChange("POST /api/v1/actions", {
    touches: ["/actions"],
    tellsErrors: false,
    done: ({ name }) => `Created ${name}`,
    onDone: ({ id }) => go(`/actions/${id}`),
  });
  const messageFor = messagesBy(create.error);
  return (
    <FormFrame
      title="New action"
      call={create}
      drawn={["name", "slug", "connectionId"]}
      isReady={kind !== undefined}
      verb="Create the action"
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
        It gets the template's definition, filled in with the defaults of its inputs, and is changed on its
        own page. A bundle asks for the inputs by a form.
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
