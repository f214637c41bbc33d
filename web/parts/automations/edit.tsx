import { useEffect, useState } from "react";
import { Link } from "wouter";
import type { Automation } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Mono } from "../base/copy.tsx";
import { TextField } from "../base/labelled.tsx";
import { Facts, Section } from "../base/page.tsx";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import type { Values } from "../form/form.tsx";
import { FormFrame, faultsOf, messagesBy } from "../form/frame.tsx";
import { ConfigEditor } from "./config-editor.tsx";
import { Graph } from "./graph.tsx";
import { stepsOf } from "./graph-layout.ts";
import { useLastRun } from "./last-run.ts";

/** Fields that the server adds to a config and doesn't take back. */
const withoutSecret = ({ secret: _, ...config }: Values): Values => config;

/** `null` for each field that was taken out: what a change leaves out stays. */
const cleared = (before: Values, config: Values): Values =>
  Object.fromEntries(
    Object.keys(before)
      .filter((name) => !Object.hasOwn(config, name))
      .map((name) => [name, null]),
  );

interface Props {
  automation: Automation;
  mayChange: boolean;
  onDirty: (isDirty: boolean) => void;
}

/** What an automation is, to be changed by those who may. */
export function EditAutomation({ automation, mayChange, onDirty }: Props) {
  return mayChange ? (
    <Editor automation={automation} onDirty={onDirty} />
  ) : (
    <>
      <Section title="Steps" flush>
        <Graph steps={stepsOf(automation.config)} />
      </Section>
      <Section title="Configuration">
        <Tree value={automation.config} copyLabel="Copy config as JSON" />
      </Section>
      <KnownOf automation={automation} />
    </>
  );
}

function Editor({ automation, onDirty }: Omit<Props, "mayChange">) {
  const before = withoutSecret(automation.config);
  const [name, setName] = useState(automation.name);
  const [description, setDescription] = useState(automation.description ?? "");
  const [config, setConfig] = useState<Values>(before);
  const [problem, setProblem] = useState<string | null>(null);
  const last = useLastRun(automation);
  const save = useChange("PATCH /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    tellsErrors: false,
    done: "Automation saved",
    onDone: () => onDirty(false),
  });
  const messageFor = messagesBy(save.error);
  const body = {
    ...(name === automation.name ? {} : { name }),
    ...(description === (automation.description ?? "") ? {} : { description: description || null }),
    ...(JSON.stringify(config) === JSON.stringify(before)
      ? {}
      : { config: { ...cleared(before, config), ...config } as never }),
  };
  const isChanged = Object.keys(body).length > 0 || problem !== null;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  return (
    <FormFrame
      title="Name and description"
      call={save}
      drawn={["name", "description", "config"]}
      isChanged={isChanged}
      isReady={problem === null}
      onSend={() => save.mutate({ path: { automation_id: automation.id }, body })}
      more={
        <>
          <ConfigEditor
            trigger={automation.triggerType}
            config={config}
            onChange={setConfig}
            onProblem={setProblem}
            faults={faultsOf(save.error)}
            last={last}
            stored={automation.hasSecret ? before : null}
          />
          <KnownOf automation={automation} />
        </>
      }
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          isRequired
          value={name}
          onChange={setName}
          fault={messageFor("name")}
          maxLength={255}
        />
        <TextField
          label="Description"
          value={description}
          onChange={setDescription}
          fault={messageFor("description")}
          maxLength={2048}
        />
      </div>
    </FormFrame>
  );
}

const KnownOf = ({ automation: { id, createdAt, updatedAt } }: { automation: Automation }) => (
  <Section title="Details">
    <Facts
      of={[
        ["ID", <Mono key="id" text={id} />],
        ["Created", <When key="made" at={createdAt} />],
        ["Updated", <When key="changed" at={updatedAt} />],
        [
          "Events",
          <Link key="events" href={`/events?entityId=${id}`} className="text-accent hover:underline">
            View all events
          </Link>,
        ],
      ]}
    />
  </Section>
);
