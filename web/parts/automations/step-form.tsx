import { X } from "lucide-react";
import { useState } from "react";
import type { Fault } from "../../api.ts";
import type { ActionKindInfo } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button, LinkButton } from "../base/button.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import type { Actions } from "../canvas/kinds.ts";
import { renameStep } from "../canvas/renaming.ts";
import { putInStep, type StepValue } from "../canvas/steps-config.ts";
import { ConnectionChoice } from "../connections/choice.tsx";
import { TemplateText } from "../editor/template-text.tsx";
import { DefinitionEditor } from "../form/definition.tsx";
import { NumberField } from "../form/field-scalar.tsx";
import type { Values } from "../form/form.tsx";
import { ForEach } from "./for-each.tsx";

/** Format of a key in the API. */
const KEY = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]*$/;

interface Props {
  step: StepValue;
  steps: readonly StepValue[];
  actions: Actions;
  kinds: readonly ActionKindInfo[];
  /** With locations below the step. */
  faults: readonly Fault[];
  /** Location of the step in the request. */
  at: readonly string[];
  /** `field` names the edited field, so that undo reverts continued typing in one step. */
  onChange: (step: StepValue, field: string) => void;
  /** `change` renames the step in a config. */
  onRename: (key: string, change: (config: Values) => Values) => void;
  /** Opens the choice of another action or kind. */
  onReplace: () => void;
  onDisconnect: (dependency: string) => void;
}

/** Settings of a step. */
export default function StepForm({ step, steps, actions, kinds, faults, at, ...on }: Props) {
  const put = (change: Partial<StepValue>) =>
    on.onChange(putInStep(step, change), Object.keys(change).join());
  const messageFor = (name: string) => faults.find(({ loc }) => loc[at.length] === name)?.msg;
  const kind = kinds.find((each) => each.kind === step.kind) ?? null;
  return (
    <div className="@container space-y-4">
      <div className="grid gap-4 @md:grid-cols-2">
        <TextField
          label={t("Step name")}
          value={step.name ?? ""}
          onChange={(name) => put({ name })}
          fault={messageFor("name")}
          maxLength={255}
        />
        <Key
          step={step}
          steps={steps}
          fault={messageFor("key")}
          onRename={(key) => on.onRename(key, (config) => renameStep(config, step.key, key))}
        />
      </div>
      <Work step={step} actions={actions} kinds={kinds} onReplace={on.onReplace}>
        {messageFor("actionId") ?? messageFor("kind")}
      </Work>
      <After step={step} steps={steps} fault={messageFor("dependsOn")} onDisconnect={on.onDisconnect} />
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
            connectionId={step.connectionId ?? ""}
            value={step.definition ?? {}}
            onChange={(definition) => on.onChange({ ...step, definition }, "definition")}
            onProblem={() => undefined} // the form shows it, and nothing is published before it is fixed
            faults={faults}
            at={[...at, "definition"]}
          />
        </fieldset>
      )}
      <div className="grid gap-4 @md:grid-cols-2">
        <Labelled
          label={t("Condition")}
          about={t("CEL condition. Leave empty to always run.")}
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
        <Labelled label={t("On failure")} fault={messageFor("onError")}>
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={step.onError ?? "fail"}
              onChange={({ target: { value } }) => put({ onError: value === "fail" ? "" : value })}
            >
              <option value="fail">{t("Fail the run")}</option>
              <option value="continue">{t("Continue|after a failure")}</option>
            </select>
          )}
        </Labelled>
        <ForEach step={step} messageFor={messageFor} onChange={(next) => on.onChange(next, "forEach")} />
        <Delay step={step} fault={messageFor("delay")} onChange={(next) => on.onChange(next, "delay")} />
      </div>
    </div>
  );
}

interface WorkProps extends Pick<Props, "step" | "actions" | "kinds" | "onReplace"> {
  /** The error. */
  children: string | undefined;
}

/** What a step runs: an existing action, or a kind with an inline definition. */
function Work({ step, actions, kinds, onReplace, children }: WorkProps) {
  const action = actions.get(step.actionId ?? "");
  const title = kinds.find(({ kind }) => kind === (action?.kind ?? step.kind))?.title ?? step.kind;
  return (
    <div>
      <div className="flex items-center gap-2">
        <span className="min-w-0 grow text-sm">
          {step.actionId ? (
            <>
              <span className="text-soft">{t("Action")} </span>
              <span dir="auto">{action?.name ?? step.actionId}</span>
              {title && <span className="text-soft"> ({title})</span>}
            </>
          ) : (
            <>
              <span className="text-soft">{t("Kind")} </span>
              {title ?? t("None")}
            </>
          )}
        </span>
        {step.actionId && <LinkButton href={`/actions/${step.actionId}`}>{t("Open")}</LinkButton>}
        <Button onClick={onReplace}>{t("Change|verb")}</Button>
      </div>
      {children && (
        <p role="alert" className="mt-1 text-xs text-bad">
          {children}
        </p>
      )}
    </div>
  );
}

interface AfterProps extends Pick<Props, "step" | "steps" | "onDisconnect"> {
  fault: string | undefined;
}

/** Dependencies of the step. Edges are drawn on the canvas. */
function After({ step, steps, fault, onDisconnect }: AfterProps) {
  const nameOf = (dependency: string) => {
    const [key = "", branch] = dependency.split(/:(.*)/s);
    const name = steps.find((each) => each.key === key)?.name ?? key;
    return branch === undefined ? name : `${name}: ${branch}`;
  };
  const all = step.dependsOn ?? [];
  if (all.length === 0 && !fault) return null;
  return (
    <div>
      <p className="mb-1 text-sm font-medium">{t("After")}</p>
      <ul className="flex flex-wrap gap-1.5">
        {all.map((dependency) => (
          <li
            key={dependency}
            className="flex min-w-0 items-center gap-1 rounded-full bg-sunken py-0.5 pr-1 pl-2.5 text-xs"
          >
            <span className="truncate" dir="auto">
              {nameOf(dependency)}
            </span>
            <button
              type="button"
              aria-label={t("No longer after {name}", { name: nameOf(dependency) })}
              onClick={() => onDisconnect(dependency)}
              className="grid size-6 place-items-center rounded-full text-soft hover:bg-line hover:text-ink"
            >
              <X size={12} aria-hidden />
            </button>
          </li>
        ))}
      </ul>
      {fault && <p className="mt-1 text-xs text-bad">{fault}</p>}
    </div>
  );
}

interface DelayProps extends Pick<Props, "step"> {
  fault: string | undefined;
  onChange: (step: StepValue) => void;
}

/** Delay before the step runs. */
function Delay({ step, fault, onChange }: DelayProps) {
  const { seconds, until } = step.delay ?? {};
  const put = (delay: StepValue["delay"]) => {
    const { delay: _, ...rest } = step;
    onChange((delay === undefined ? rest : { ...rest, delay }) as StepValue);
  };
  const way = seconds !== undefined ? "seconds" : until !== undefined ? "until" : "none";
  return (
    <>
      <Labelled label={t("Delay")} {...(way === "none" ? { fault } : {})}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={way}
            onChange={({ target: { value } }) =>
              put(value === "seconds" ? { seconds: 60 } : value === "until" ? { until: "" } : undefined)
            }
          >
            <option value="none">{t("None")}</option>
            <option value="seconds">{t("For a time")}</option>
            <option value="until">{t("Until a date and time")}</option>
          </select>
        )}
      </Labelled>
      {seconds !== undefined && (
        <Labelled label={t("Seconds to wait")} fault={fault}>
          {(wiring) => (
            <NumberField
              wiring={wiring}
              value={seconds}
              placeholder="60"
              onChange={(next) => put({ seconds: (next ?? "") as number | string })}
            />
          )}
        </Labelled>
      )}
      {way === "until" && (
        <Labelled label={t("Date and time to wait for")} fault={fault}>
          {(wiring) => (
            <TemplateText
              {...wiring}
              className="font-mono text-xs"
              placeholder="{{payload.sendAt}}"
              value={until ?? ""}
              onChange={(text) => put({ until: text })}
            />
          )}
        </Labelled>
      )}
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
  if (text !== key && steps.some((each) => each.key === text)) return t("Another step has this key.");
  return KEY.test(text) ? undefined : t("Use letters, digits, _ and -. Can't start with a digit.");
};

/** The key changes when the field loses focus, since each keystroke would rename the step. */
function Key({ step: { key }, steps, fault, onRename }: KeyProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? key;
  const finish = () => {
    setTyped(null);
    if (text !== key && keyFault(text, key, steps) === undefined) onRename(text);
  };
  return (
    <Labelled
      label={t("Key")}
      isRequired
      about={t("Template expressions refer to it: {expression}.", { expression: "{{steps.KEY.result}}" })}
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
          onChange={({ target: { value } }) => setTyped(value)}
          onKeyDown={(event) => event.key === "Enter" && finish()}
          onBlur={finish}
        />
      )}
    </Labelled>
  );
}
