import { Ban, ClipboardCopy, RotateCcw, Terminal } from "lucide-react";
import { Link, useLocation } from "wouter";
import type { Run } from "../calls.ts";
import { client, refresh, useApi, useChange, useMay } from "../data.ts";
import { Button } from "../parts/button.tsx";
import { copy, Mono } from "../parts/copy.tsx";
import { Menu } from "../parts/menu.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/page.tsx";
import { RunLog } from "../parts/run-log.tsx";
import { useActionNames } from "../parts/run-table.tsx";
import { RunTimeline } from "../parts/run-timeline.tsx";
import { Status } from "../parts/status.tsx";
import { Took, When } from "../parts/time.tsx";
import { tell } from "../parts/toast.tsx";
import { Tree } from "../parts/tree.tsx";

const ENDED = new Set(["completed", "failed", "cancelled"]);
/** Events tell of starts and ends; progress is asked for. */
const PROGRESS_MS = 2000;

export default function RunPage({ id }: { id: string }) {
  const run = useApi("GET /api/v1/action-runs/{run_id}", { path: { run_id: id } });
  return <Shown of={run}>{(data) => <Whole run={data} />}</Shown>;
}

function Whole({ run: first }: { run: Run }) {
  const { id } = first;
  const isOver = ENDED.has(first.status);
  const polled = useApi(
    "GET /api/v1/action-runs/{run_id}",
    { path: { run_id: id } },
    isOver ? {} : { refetchMs: PROGRESS_MS },
  );
  const run = polled.data ?? first;
  const names = useActionNames([run.actionId]);
  const name = (run.actionId && names.get(run.actionId)) || `Run of ${run.kind}`;
  const artifacts = useApi(
    "GET /api/v1/artifacts",
    { query: { action_run_id: id, limit: 20 } },
    { enabled: isOver },
  );
  return (
    <>
      <PageHead
        title={name}
        from={[
          ["/runs", "Runs"],
          ...(run.actionId && names.has(run.actionId)
            ? [[`/actions/${run.actionId}`, "Action"] as const]
            : []),
        ]}
        beside={<Status status={run.status} label={run.displayStatus} />}
      >
        <Deeds run={run} />
      </PageHead>
      <Problem run={run} />
      <Progress run={run} />
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <Section title="What happened">
          <RunTimeline run={run} />
        </Section>
        <Section title="Facts">
          <Facts
            of={[
              ["Run", <Mono key="id" text={run.id} />],
              ["Kind", run.kind],
              ["Trigger", <TriggeredBy key="trigger" run={run} />],
              ["Took", <Took key="took" seconds={run.durationSeconds} />],
              ["Created", <When key="created" at={run.createdAt} />],
              ...(run.retryCount > 0 ? [["Tries", String(run.retryCount + 1)] as const] : []),
              ...(run.interruptCount > 0 ? [["Interrupted", `${run.interruptCount} ×`] as const] : []),
              ...(run.parentActionRunId
                ? [
                    [
                      "Retry of",
                      <Link
                        key="p"
                        href={`/runs/${run.parentActionRunId}`}
                        className="text-accent hover:underline"
                      >
                        {run.parentActionRunId.slice(-12)}
                      </Link>,
                    ] as const,
                  ]
                : []),
              ...(run.concurrencyKey
                ? [["Concurrency key", <Mono key="c" text={run.concurrencyKey} />] as const]
                : []),
            ]}
          />
        </Section>
      </div>
      <Section title="Log" flush>
        <RunLog runId={id} isOver={isOver} onEnd={() => void refresh(client, "/action-runs")} />
      </Section>
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <Section title="Input">
          <Tree value={run.definition} label="the input" />
        </Section>
        <Section title="Output">
          {run.result === null ? (
            <p className="text-sm text-faint">{isOver ? "Nothing." : "Not yet."}</p>
          ) : (
            <Tree value={run.result} label="the output" />
          )}
        </Section>
      </div>
      {artifacts.data && artifacts.data.total > 0 && (
        <Section title="Artifacts">
          <ul className="space-y-1 text-sm">
            {artifacts.data.artifacts.map((artifact) => (
              <li key={artifact.id} className="flex items-center gap-2">
                <a
                  href={`/api/v1/artifacts/${artifact.id}/content`}
                  className="text-accent hover:underline"
                  download
                >
                  {artifact.title ?? artifact.id}
                </a>
                <span className="text-soft">{artifact.kind}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Problem({ run: { error } }: { run: Run }) {
  if (!error) return null;
  const { code, message, details, attempt } = error as {
    code?: string;
    message?: string;
    details?: unknown;
    attempt?: number;
  };
  return (
    <div role="alert" className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm">
      <p className="font-medium break-words text-bad [overflow-wrap:anywhere]" dir="auto">
        {message}
      </p>
      <p className="mt-0.5 text-xs text-soft">
        <code className="font-mono">{code}</code>
        {attempt !== undefined && ` · try ${attempt}`}
      </p>
      {details !== undefined && details !== null && (
        <details className="mt-2">
          <summary className="text-xs text-soft">Details</summary>
          <div className="mt-2">
            <Tree value={details} label="the details" />
          </div>
        </details>
      )}
    </div>
  );
}

function Progress({ run: { progress, status } }: { run: Run }) {
  if (!progress || (status !== "running" && status !== "waiting")) return null;
  const { message, phase, percent } = progress as {
    message?: string;
    phase?: string;
    percent?: number | null;
  };
  return (
    <div className="card mb-5 px-4 py-3 text-sm">
      <p>{message ?? phase}</p>
      {typeof percent === "number" && (
        <progress
          className="mt-2 h-1.5 w-full accent-accent"
          value={percent}
          max={100}
          aria-label="Progress"
        />
      )}
    </div>
  );
}

function TriggeredBy({ run }: { run: Run }) {
  const { triggerMethod, triggerSourceType, triggerSourceId } = run;
  if (triggerSourceType === "automation" && triggerSourceId) {
    return (
      <>
        {triggerMethod}, by{" "}
        <Link href={`/automations/${triggerSourceId}`} className="text-accent hover:underline">
          an automation
        </Link>
      </>
    );
  }
  return <>{`${triggerMethod}, by ${triggerSourceType.replace("_", " ")}`}</>;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** How to run the same once more from a terminal. */
function commandsFor({ actionId, definition }: Run) {
  const body = JSON.stringify({ definitionOverrides: definition });
  return {
    curl: [
      `curl -X POST ${location.origin}/api/v1/actions/${actionId}/run`,
      `  -H "Authorization: Bearer $WEIR_TOKEN"`,
      `  -H 'Content-Type: application/json'`,
      `  -d ${quoted(body)}`,
    ].join(" \\\n"),
    cli: `weir actions run ${actionId}`,
  };
}

function Deeds({ run }: { run: Run }) {
  const may = useMay("member");
  const [, go] = useLocation();
  const path = { path: { run_id: run.id } };
  const cancel = useChange("POST /api/v1/action-runs/{run_id}/cancel", {
    touches: ["/action-runs"],
    done: "Cancelling",
  });
  const retry = useChange("POST /api/v1/action-runs/{run_id}/retry", {
    touches: ["/action-runs"],
    done: "Set off again",
    onDone: ({ id }) => go(`/runs/${id}`),
  });
  const take = async (text: string) => {
    if (await copy(text)) tell("Copied");
  };
  const isOver = ENDED.has(run.status);
  return (
    <>
      <Menu
        label="Copy as a command"
        align="right"
        buttonClass="inline-flex h-8 items-center gap-1.5 rounded-md border border-strong-line bg-raised px-3 text-sm font-medium hover:bg-sunken"
        button={
          <>
            <ClipboardCopy size={15} aria-hidden /> Copy
          </>
        }
        items={[
          ...(run.actionId
            ? [
                { name: "As cURL", icon: ClipboardCopy, onPick: () => void take(commandsFor(run).curl) },
                { name: "As a weir command", icon: Terminal, onPick: () => void take(commandsFor(run).cli) },
              ]
            : []),
          {
            name: "Follow the log: weir command",
            icon: Terminal,
            onPick: () => void take(`weir runs logs ${run.id} --follow`),
          },
        ]}
      />
      {isOver ? (
        <Button icon={RotateCcw} disabled={!may} busy={retry.isPending} onClick={() => retry.mutate(path)}>
          Retry
        </Button>
      ) : (
        <Button
          kind="bad"
          icon={Ban}
          disabled={!may}
          busy={cancel.isPending}
          onClick={() => cancel.mutate(path)}
        >
          Cancel
        </Button>
      )}
    </>
  );
}
