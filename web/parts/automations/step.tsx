import { Link } from "wouter";
import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { plural } from "../base/plural.ts";
import { Status } from "../base/status.tsx";
import { exactly } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";

type State = AutomationRun["steps"][number];

interface Props {
  step: object & { key: string; name?: string };
  /** How a run left it; null where none did. */
  state: State | null;
}

/** One step: what it does, and what it gave in the run at hand. */
export function Step({ step, state }: Props) {
  return (
    <div className="grid gap-6 border-t border-line p-4 md:grid-cols-2">
      <div className="min-w-0">
        <p className="mb-2 text-sm font-semibold">{step.name ?? step.key}</p>
        <Tree value={step} copyLabel="Copy step as JSON" />
      </div>
      <Gave title="Output" state={state} />
    </div>
  );
}

/** What a step gave, or why it gave nothing. */
export function Gave({ title, state }: Pick<Props, "state"> & { title: string }) {
  const runId = state?.actionRunId ?? "";
  const run = useApi(
    "GET /api/v1/action-runs/{run_id}",
    { path: { run_id: runId } },
    { enabled: runId !== "" },
  );
  const error = state?.error as { message?: string } | null | undefined;
  return (
    <div className="min-w-0">
      <div className="mb-2 flex items-center gap-2 text-sm">
        <span className="font-semibold">{title}</span>
        {state && <Status status={state.status} />}
        {runId && (
          <Link href={`/runs/${runId}`} className="text-xs text-accent hover:underline">
            Open run
          </Link>
        )}
      </div>
      {state?.completedAt && <p className="mb-2 text-xs text-soft">{exactly(state.completedAt)}</p>}
      {error?.message && <p className="mb-2 text-sm break-words text-bad">{error.message}</p>}
      {state?.items?.failures && <Failures items={state.items} />}
      {run.data ? (
        <Tree value={run.data.result} copyLabel="Copy result as JSON" />
      ) : state?.items?.failures ? null : (
        <p className="text-sm text-faint">No output yet</p>
      )}
    </div>
  );
}

/** So many failed items are shown; the API has more. */
const FAILURES_SHOWN = 20;

function Failures({ items: { failures = [], failed } }: { items: NonNullable<State["items"]> }) {
  const more = failed - FAILURES_SHOWN;
  return (
    <div className="mb-2 text-sm">
      <p className="mb-1 text-xs font-medium">Failed items</p>
      <ul>
        {failures.slice(0, FAILURES_SHOWN).map(({ index, error }) => (
          <li key={index} className="break-words">
            <span className="text-soft">Item {index}:</span> {String(error.message)}
          </li>
        ))}
      </ul>
      {more > 0 && <p className="text-xs text-soft">{plural(more, { one: "# more", other: "# more" })}</p>}
    </div>
  );
}
