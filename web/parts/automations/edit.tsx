import { Pencil } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import type { Automation } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { LinkButton } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { TextField } from "../base/labelled.tsx";
import { Facts, Section } from "../base/page.tsx";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { FormFrame, faultsOf, messagesBy } from "../form/frame.tsx";
import { TagsField } from "../table/tags.tsx";
import { SenderAuth } from "./sender-auth.tsx";
import { SENDER_FIELDS } from "./sender-choices.ts";
import { ALERT_SETTINGS } from "./trigger-schemas.ts";

interface Props {
  automation: Automation;
  mayChange: boolean;
  onDirty: (isDirty: boolean) => void;
}

/**
 * Names, and fields that can contain secrets. Everything else is edited on the canvas,
 * whose drafts can't contain secrets.
 */
export function EditAutomation({ automation, mayChange, onDirty }: Props) {
  return (
    <>
      {mayChange && <Names automation={automation} onDirty={onDirty} />}
      <Section
        title={t("Configuration")}
        aside={
          mayChange && (
            <LinkButton icon={Pencil} href={`/automations/${automation.id}/edit`}>
              {t("Edit on the canvas")}
            </LinkButton>
          )
        }
      >
        <Tree value={automation.config} copyLabel={t("Copy config as JSON")} />
      </Section>
      <KnownOf automation={automation} />
    </>
  );
}

/** Changes of the fields that can contain secrets, with null for removed ones. */
function configChange(before: Values, after: Values): Values {
  const names = [...SENDER_FIELDS, "secret", "alerts"].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  return Object.fromEntries(names.map((name) => [name, after[name] ?? null]));
}

function Names({ automation, onDirty }: Omit<Props, "mayChange">) {
  const [name, setName] = useState(automation.name);
  const [description, setDescription] = useState(automation.description ?? "");
  const [tags, setTags] = useState(automation.tags);
  const { secret: _, ...before } = automation.config as Values;
  const [config, setConfig] = useState<Values>(before);
  const changes = configChange(before, config);
  const save = useChange("PATCH /api/v1/automations/{automation_id}", {
    basedOn: automation,
    touches: ["/automations", "/tags"],
    tellsErrors: false,
    done: t("Automation saved"),
    onDone: () => onDirty(false),
  });
  const messageFor = messagesBy(save.error);
  const body = {
    ...(name === automation.name ? {} : { name }),
    ...(description === (automation.description ?? "") ? {} : { description: description || null }),
    ...(JSON.stringify(tags) === JSON.stringify(automation.tags) ? {} : { tags }),
    ...(Object.keys(changes).length > 0 ? { config: changes as never } : {}),
  };
  const isChanged = Object.keys(body).length > 0;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  return (
    <FormFrame
      title={t("Name and description")}
      call={save}
      drawn={["name", "description", "tags", "config"]}
      isChanged={isChanged}
      onSend={() => save.mutate({ path: { automation_id: automation.id }, body })}
      more={
        <>
          {automation.triggerType === "webhook" && (
            <SenderAuth
              config={config}
              onChange={setConfig}
              faults={faultsOf(save.error)}
              stored={automation.hasSecret ? before : null}
            />
          )}
          <Section title={t("Alerts")}>
            <SchemaForm
              schema={ALERT_SETTINGS}
              value={config}
              onChange={setConfig}
              at={["body", "config"]}
              faults={faultsOf(save.error).filter(({ loc }) => loc[2] === "alerts")}
            />
          </Section>
        </>
      }
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t("Name")}
          isRequired
          value={name}
          onChange={setName}
          fault={messageFor("name")}
          maxLength={255}
        />
        <TextField
          label={t("Description")}
          value={description}
          onChange={setDescription}
          fault={messageFor("description")}
          maxLength={2048}
        />
        <TagsField tags={tags} onChange={setTags} fault={messageFor("tags")} />
      </div>
    </FormFrame>
  );
}

const KnownOf = ({ automation: { id, createdAt, updatedAt } }: { automation: Automation }) => (
  <Section title={t("Details")}>
    <Facts
      of={[
        ["ID", <Mono key="id" text={id} />],
        [t("Created"), <When key="made" at={createdAt} />],
        [t("Updated"), <When key="changed" at={updatedAt} />],
        [
          t("Events"),
          <Link key="events" href={`/events?entityId=${id}`} className="text-accent hover:underline">
            {t("View all events")}
          </Link>,
        ],
      ]}
    />
  </Section>
);
