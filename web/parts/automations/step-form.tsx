import { Trash2 } from "lucide-react";
import { useState } from "react";
import type { Fault } from "../../api.ts";
import type { Action, ActionKindInfo, AutomationRun } from "../../calls.ts";
import { IconButton } from "../base/button.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { ConnectionChoice } from "../connections/choice.tsx";
import { TemplateText } from "../editor/template-text.tsx";
import { DefinitionEditor } from "../form/definition.tsx";
import { startValue } from "../form/schema.ts";
import { ForEach } from "./for-each.tsx";
import { Gave } from "./step.tsx";
import { Needs } from "./step-needs.tsx";
import { putInStep, type StepValue } from "./steps-config.ts";

/** A key as the API takes it. */
const KEY = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]*$/;

interface Props {
  step: StepValue;
  steps: readonly StepValue[];
  actions: readonly Action[];
  kinds: readonly ActionKindInfo[];
  /** With places below the step. */
  faults: readonly Fault[];
  /** Where the step stands in the request. */
  at: readonly string[];
  /** How the last run left it. */
  state: AutomationRun["steps"][number] | null;
  onChange: (step: StepValue) => void;
  onRename: (key: string) => void;
  onRemove: () => void;
  onProblem: (problem: string | null) => void;
}

/** One step by form, beside what it gave last time. */
export function StepForm({ step, steps, actions, kinds, faults, at, state, ...rest }: Props) {
  const put = (change: Partial<StepValue>) => rest.onChange(putInStep(step, change));
  const messageFor = (name: string) => faults.find(({ loc }) => loc[at.length] === name)?.msg;
  const kind = kinds.find((each) => each.kind === step.kind) ?? null;
  const setWork = (value: string) => {
    const [what, id = ""] = value.split(":", 2);
    const { actionId: _a, kind: _k, definition: _d, connectionId: _c, ...kept } = step;
    const schema = kinds.find((each) => each.kind === id)?.definitionSchema;
    if (what === "action") rest.onChange({ ...kept, actionId: id });
    else rest.onChange({ ...kept, kind: id, definition: schema ? startValue(schema) : {} });
  };
  return (
    <div className="grid gap-6 border-t border-line p-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="min-w-0 space-y-4">
        <div className="flex items-start gap-2">
          <div className="grid min-w-0 grow gap-4 sm:grid-cols-2">
            <Key step={step} steps={steps} fault={messageFor("key")} onRename={rest.onRename} />
            <TextField
              label="Step name"
              value={step.name ?? ""}
              onChange={(name) => put({ name })}
              fault={messageFor("name")}
              maxLength={255}
            />
          </div>
          <IconButton icon={Trash2} label={`Remove step ${step.key}`} onClick={rest.onRemove} />
        </div>
        <Labelled label="Action or kind" fault={messageFor("actionId") ?? messageFor("kind")}>
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={step.actionId ? `action:${step.actionId}` : `kind:${step.kind ?? ""}`}
              onChange={(event) => setWork(event.target.value)}
            >
              <Works actions={actions} kinds={kinds} />
              {step.actionId && !actions.some(({ id }) => id === step.actionId) && (
                <option value={`action:${step.actionId}`}>{step.actionId}</option>
              )}
            </select>
          )}
        </Labelled>
        <Needs
          step={step}
          steps={steps}
          actions={actions}
          fault={messageFor("dependsOn")}
          onChange={(dependsOn) => put({ dependsOn })}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <Labelled
            label="Condition"
            about="CEL condition. Leave empty to always run."
            fault={messageFor("when")}
          >
            {(wiring) => (
              <TemplateText
                {...wiring}
                as="condition"
                className="font-mono text-xs"
                placeholder="payload.total > 100"
                value={step.when ?? ""}
                onChange={(when) => put({ when })}
              />
            )}
          </Labelled>
          <Labelled label="On failure" fault={messageFor("onError")}>
            {(wiring) => (
              <select
                {...wiring}
                className="field"
                value={step.onError ?? "fail"}
                onChange={(event) =>
                  put({
                    onError: event.target.value === "fail" ? undefined : event.target.value,
                  } as Partial<StepValue>)
                }
              >
                <option value="fail">Fail the run</option>
                <option value="continue">Continue</option>
              </select>
            )}
          </Labelled>
          <ForEach step={step} messageFor={messageFor} onChange={rest.onChange} />
        </div>
        {kind && (
          <fieldset className="min-w-0 space-y-4 rounded-md border border-line p-3">
            <legend className="px-1 text-sm font-medium">{kind.title}</legend>
            {kind.providers.length > 0 && (
              <ConnectionChoice
                kind={kind}
                value={step.connectionId ?? ""}
                onChange={(connectionId) => put({ connectionId })}
                fault={messageFor("connectionId")}
              />
            )}
            <DefinitionEditor
              key={kind.kind}
              kind={kind}
              value={step.definition ?? {}}
              onChange={(definition) => rest.onChange({ ...step, definition })}
              onProblem={rest.onProblem}
              faults={faults}
              at={[...at, "definition"]}
            />
          </fieldset>
        )}
      </div>
      <Gave title="Last output" state={state} />
    </div>
  );
}

/** What a step can do: an action that exists, or a kind that is defined in its place. */
export function Works({ actions, kinds }: Pick<Props, "actions" | "kinds">) {
  return (
    <>
      {actions.length > 0 && (
        <optgroup label="Actions">
          {actions.map(({ id, name }) => (
            <option key={id} value={`action:${id}`}>
              {name}
            </option>
          ))}
        </optgroup>
      )}
      <optgroup label="Inline">
        {kinds.map(({ kind, title }) => (
          <option key={kind} value={`kind:${kind}`}>
            {title}
          </option>
        ))}
      </optgroup>
    </>
  );
}

interface KeyProps {
  step: StepValue;
  steps: readonly StepValue[];
  fault: string | undefined;
  onRename: (key: string) => void;
}

const keyFault = (text: string, key: string, steps: readonly StepValue[]): string | undefined => {
  if (text !== key && steps.some((each) => each.key === text)) return "Another step has this key.";
  return KEY.test(text) ? undefined : "Use letters, digits, _ and -. Can't start with a digit.";
};

/** What is typed and can't be a key stays in the field alone. */
function Key({ step: { key }, steps, fault, onRename }: KeyProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? key;
  return (
    <Labelled
      label="Key"
      isRequired
      about="Template expressions refer to it: {{steps.KEY.result}}."
      fault={keyFault(text, key, steps) ?? fault}
    >
      {(wiring) => (
        <input
          {...wiring}
          className="field font-mono text-xs"
          autoComplete="off"
          spellCheck={false}
          maxLength={100}
          value={text}
          onChange={({ target: { value } }) => {
            setTyped(value);
            if (value !== key && keyFault(value, key, steps) === undefined) onRename(value);
          }}
          onBlur={() => setTyped(null)}
        />
      )}
    </Labelled>
  );
}
