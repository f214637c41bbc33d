import { Pin, PinOff } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Later, part } from "../base/later.tsx";
import { readJson } from "../base/read-json.ts";
import { Status } from "../base/status.tsx";
import { When } from "../base/time.tsx";
import { Code } from "../editor/code.tsx";
import { Values } from "./values.tsx";

type StepRun = AutomationRun["steps"][number];

interface Props {
  stepKey: string;
  /** State of the step in the shown run. Null without one. */
  state: StepRun | null;
  pinned: unknown;
  /** Null if the user can't change the automation. */
  onPin: ((result: unknown) => void) | null;
}

const log = part(() => import("../runs/log.tsx"));

const ENDED = ["completed", "failed", "cancelled"];

/** Output of a step: result, error and log, and the pinned result for test runs. */
export default function StepOutput({ stepKey, state, pinned, onPin }: Props) {
  const runId = state?.actionRunId ?? "";
  const run = useApi(
    "GET /api/v1/action-runs/{run_id}",
    { path: { run_id: runId } },
    { enabled: runId !== "" },
  );
  const error = state?.error as { message?: string; code?: string } | null | undefined;
  const result = run.data?.result;
  const failures = state?.items?.failures ?? [];
  return (
    <div className="space-y-4">
      {pinned !== undefined && <Pinned value={pinned} onPin={onPin} />}
      {state ? (
        <div className="flex flex-wrap items-center gap-2 text-sm">
          <Status status={state.status} />
          {state.completedAt && (
            <span className="text-xs text-soft">
              <When at={state.completedAt} />
            </span>
          )}
          {runId && (
            <Link href={`/runs/${runId}`} className="text-xs text-accent hover:underline">
              {t("Open run")}
            </Link>
          )}
          <span className="grow" />
          {onPin && result !== undefined && result !== null && pinned === undefined && (
            <Button icon={Pin} onClick={() => onPin(result)}>
              {t("Pin result")}
            </Button>
          )}
        </div>
      ) : (
        <p className="text-sm text-soft">{t("No output yet. Run to this step to see what it returns.")}</p>
      )}
      {error?.message && (
        <div role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          <p className="break-words">{error.message}</p>
          {error.code && <code className="font-mono text-xs">{error.code}</code>}
        </div>
      )}
      {failures.length > 0 && (
        <div className="text-sm">
          <p className="mb-1 font-medium">{t("Failed items")}</p>
          <ul>
            {failures.slice(0, 20).map(({ index, error: cause }) => (
              <li key={index} className="break-words">
                <span className="text-soft">{t("Item {index}:", { index })}</span> {String(cause.message)}
              </li>
            ))}
          </ul>
        </div>
      )}
      {result !== undefined && result !== null && (
        <section>
          <h3 className="mb-1 text-sm font-medium">{t("Result")}</h3>
          <Values value={result} path={`steps.${stepKey}.result`} onInsert={null} />
        </section>
      )}
      {run.data && (
        <section>
          <h3 className="mb-1 text-sm font-medium">{t("Log")}</h3>
          <Later
            key={runId}
            of={log}
            props={{ runId, isOver: ENDED.includes(run.data.status), onEnd: () => void run.refetch() }}
          />
        </section>
      )}
    </div>
  );
}

function Pinned({ value, onPin }: { value: unknown; onPin: Props["onPin"] }) {
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const save = () => {
    try {
      onPin?.(readJson(text ?? ""));
      setText(null);
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : t("This isn't JSON."));
    }
  };
  return (
    <section className="rounded-md border border-wait/40 p-3">
      <div className="mb-1 flex items-center gap-2">
        <h3 className="grow text-sm font-medium text-wait">{t("Pinned result")}</h3>
        {onPin && text === null && (
          <>
            <Button onClick={() => setText(JSON.stringify(value, null, 2))}>{t("Edit")}</Button>
            <Button icon={PinOff} onClick={() => onPin(undefined)}>
              {t("Unpin")}
            </Button>
          </>
        )}
      </div>
      <p className="mb-2 text-xs text-soft">
        {t("Test runs use it instead of running the step. Other runs ignore it.")}
      </p>
      {text === null ? (
        <Values value={value} path="pinned" onInsert={null} />
      ) : (
        <>
          <Code
            language="json"
            label={t("Pinned result")}
            value={text}
            onChange={setText}
            minHeight={120}
            isInvalid={problem !== null}
          />
          {problem && (
            <p role="alert" className="mt-1 text-xs text-bad">
              {problem}
            </p>
          )}
          <div className="mt-2 flex justify-end gap-2">
            <Button onClick={() => setText(null)}>{t("Cancel")}</Button>
            <Button kind="main" onClick={save}>
              {t("Pin")}
            </Button>
          </div>
        </>
      )}
    </section>
  );
}
