import { PencilLine, Pin, PinOff } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import type { Automation } from "../../calls.ts";
import { keepDraft, readDraft } from "../../drafts.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Labelled } from "../base/labelled.tsx";
import { showProblem } from "../base/problem.ts";
import { readJson } from "../base/read-json.ts";
import { jsonProblem } from "../base/texts.ts";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { Code } from "../editor/code.tsx";
import { AnswerForm, type Values } from "../form/form.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";
import { type KnownInput, PINNED, useKnownInputs, useValueOf } from "./known-inputs.ts";

/** Input of a run. `fromRunId` uses the whole input of another run. */
export interface RunInput {
  input?: unknown;
  fromRunId?: string;
}

interface Kept {
  /** `form`, `json`, `none`, or the ID of a known input. */
  way: string | null;
  text: string;
  /** Null until the form is changed. */
  values: Values | null;
  /** Names of the form's fields when it was changed. */
  fields?: readonly string[];
}

const keyOf = (id: string) => `run-input.${id}`;

function read(id: string): Kept {
  const text = readDraft(keyOf(id));
  return text === null ? { way: null, text: "", values: null } : (JSON.parse(text) as Kept);
}

interface Options {
  automation: Automation;
  /** Used instead of the automation's own config. */
  config: Values;
  /** True if another run can be named instead of an input. */
  takesRuns: boolean;
  /** Pins an input, or removes the pin with `undefined`. Absent if the user can't change the automation. */
  onPin?: (input: unknown) => void;
}

/**
 * Form for a run's input: by its schema, from pinned or earlier inputs, or as JSON.
 * The entered input is kept for the next run.
 */
export function useRunInput({ automation, config, takesRuns, onPin }: Options) {
  const { id, triggerType } = automation;
  const [kept, setKept] = useState(() => read(id));
  const [problem, setProblem] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const isWebhook = triggerType === "webhook";
  const known = useKnownInputs(automation, config);
  const { inputSchema, form } = config as { inputSchema?: Values; form?: { schema?: Values } };
  const schema = inputSchema ?? form?.schema ?? null;
  const canDraw = schema !== null && propertiesOf(schema).length > 0;
  const ways: readonly (readonly [string, string])[] = [
    ...(canDraw ? ([["form", t("Fill in the form")]] as const) : []),
    ...known.map(({ id: each, title }) => [each, title] as const),
    ["json", "JSON"],
    ["none", t("Nothing")],
  ];
  const first = known.find(({ id: each }) => isWebhook || each === PINNED)?.id;
  const usual = canDraw ? "form" : (first ?? (isWebhook ? "json" : "none"));
  const way = ways.find(([each]) => each === kept.way)?.[0] ?? usual;
  const chosen = known.find(({ id: each }) => each === way) ?? null;
  const found = useValueOf(chosen);
  const put = (change: Partial<Kept>) => {
    const next = { ...kept, ...change };
    setKept(next);
    setProblem(null);
    keepDraft(keyOf(id), JSON.stringify(next));
  };
  const start = startValue(schema ?? {}, true);
  const isNew = ([name]: [string, unknown]) => !kept.fields?.includes(name);
  const values = kept.values
    ? { ...Object.fromEntries(Object.entries(start).filter(isNew)), ...kept.values }
    : start;

  /** Null if the entered text is invalid. The field shows why. */
  const take = (): RunInput | null => {
    if (way === "none") return { input: null };
    if (way === "form") return showProblem(box.current) ? null : { input: values };
    if (chosen) {
      if (found.value === undefined) return null; // the field shows why
      return takesRuns && chosen.runId !== null ? { fromRunId: chosen.runId } : { input: found.value };
    }
    try {
      return { input: kept.text.trim() === "" ? null : readJson(kept.text) };
    } catch (error) {
      setProblem(jsonProblem(error));
      return null;
    }
  };
  const fields: ReactNode = (
    <div ref={box} className="space-y-3">
      <Labelled label={isWebhook ? t("Payload") : t("Input")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={way}
            onChange={({ target: { value } }) => put({ way: value })}
          >
            {ways.map(([each, title]) => (
              <option key={each} value={each}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {way === "form" && schema && (
        <AnswerForm
          schema={schema}
          value={values}
          onChange={(next) => put({ values: next, fields: propertiesOf(schema).map(([name]) => name) })}
          at={["body", "input"]}
        />
      )}
      {chosen && (
        <Known
          known={chosen}
          {...found}
          onEdit={() => put({ way: "json", text: JSON.stringify(found.value, null, 2) })}
          onPin={onPin ?? null}
        />
      )}
      {way === "json" && (
        <>
          <Code
            language="json"
            label={isWebhook ? t("Payload as JSON") : t("Input as JSON")}
            value={kept.text}
            onChange={(text) => put({ text })}
            minHeight={110}
            isInvalid={problem !== null}
          />
          {problem && (
            <p role="alert" className="text-xs text-bad">
              {problem}
            </p>
          )}
        </>
      )}
    </div>
  );
  return { take, fields };
}

interface KnownProps extends ReturnType<typeof useValueOf> {
  known: KnownInput;
  onEdit: () => void;
  onPin: Options["onPin"] | null;
}

/** A known input, which can be edited for this run, or pinned. */
function Known({ known, value, isGone, error, onEdit, onPin }: KnownProps) {
  if (isGone || error)
    return (
      <p role="alert" className="text-sm text-bad">
        {error?.message ?? t("The payload of this delivery is no longer stored.")}
      </p>
    );
  if (value === undefined)
    return (
      <p role="status" className="text-sm text-soft">
        {t("Loading…")}
      </p>
    );
  const isPinned = known.id === PINNED;
  return (
    <div className="rounded-md border border-line p-2">
      <div className="mb-1 flex flex-wrap items-center gap-1.5">
        <span className="grow text-xs text-soft">{known.at && <When at={known.at} />}</span>
        <Button kind="quiet" icon={PencilLine} onClick={onEdit}>
          {t("Edit")}
        </Button>
        {onPin && (
          <Button
            kind="quiet"
            icon={isPinned ? PinOff : Pin}
            onClick={() => onPin(isPinned ? undefined : value)}
          >
            {isPinned ? t("Unpin") : t("Pin")}
          </Button>
        )}
      </div>
      <Tree value={value} copyLabel={t("Copy input as JSON")} />
    </div>
  );
}
