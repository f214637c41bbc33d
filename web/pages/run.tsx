import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Run } from "../calls.ts";
import { client, refresh, useApi } from "../data.ts";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { Mono } from "../parts/base/copy.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { counted, Took, When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { RunActions } from "../parts/runs/actions.tsx";
import { RunChain } from "../parts/runs/chain.tsx";
import { triggerName } from "../parts/runs/filters.tsx";
import RunLog from "../parts/runs/log.tsx";
import { runName } from "../parts/runs/names.ts";
import { Artifacts, Output } from "../parts/runs/output.tsx";
import { Problem, Progress } from "../parts/runs/problem.tsx";
import { RunTimeline } from "../parts/runs/timeline.tsx";
import { t } from "../texts/text.ts";

const ENDED = new Set(["completed", "failed", "cancelled"]);
/** Events report starts and ends. Progress is polled. */
const PROGRESS_MS = 2000;

export default function RunPage({ id }: { id: string }) {
  const run = useApi("GET /api/v1/action-runs/{run_id}", { path: { run_id: id } });
  return (
    <Shown of={run} isPage>
      {(data) => <Whole run={data} />}
    </Shown>
  );
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
  const kinds = useActionKinds();
  const title = kinds.data?.kinds.find(({ kind }) => kind === run.kind)?.title ?? run.kind;
  return (
    <>
      <PageHead
        title={runName(run, title)}
        from={[
          ["/runs?tab=actions", t("Runs")],
          ...(run.automationName && run.automationRunId
            ? [[`/automation-runs/${run.automationRunId}`, run.automationName] as const]
            : []),
          ...(run.actionName && run.actionId ? [[`/actions/${run.actionId}`, t("Action")] as const] : []),
        ]}
        beside={<Status status={run.status} label={run.displayStatus} />}
      >
        <RunActions run={run} isOver={isOver} />
      </PageHead>
      <Problem run={run} />
      <Progress run={run} />
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <Section title={t("Timeline")}>
          <RunTimeline run={run} />
        </Section>
        <Section title={t("Details")}>
          <Facts
            of={[
              [t("Run"), <Mono key="id" text={run.id} />],
              [t("Kind"), title],
              [t("Trigger"), <TriggeredBy key="trigger" run={run} />],
              ...loadedInto(run),
              [t("Duration"), <Took key="took" seconds={run.durationSeconds} />],
              [t("Created"), <When key="created" at={run.createdAt} />],
              ...(run.retryCount > 0 ? [[t("Attempts"), String(run.retryCount + 1)] as const] : []),
              ...(run.interruptCount > 0 ? [[t("Interruptions"), counted(run.interruptCount)] as const] : []),
              ...(run.parentActionRunId
                ? [
                    [
                      t("Retried from"),
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
                ? [[t("Concurrency key"), <Mono key="c" text={run.concurrencyKey} />] as const]
                : []),
            ]}
          />
        </Section>
      </div>
      <Section title={t("Log")} flush>
        <RunLog runId={id} isOver={isOver} onEnd={() => void refresh(client, "/action-runs")} />
      </Section>
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <Section title={t("Input")}>
          <Tree value={run.definition} copyLabel={t("Copy input as JSON")} />
        </Section>
        <Section title={t("Output")}>
          <Output run={run} isOver={isOver} />
        </Section>
      </div>
      <RunChain run={run} />
      <Artifacts runId={id} isOver={isOver} />
    </>
  );
}

/** Destination of an extract. */
function loadedInto({ kind, status, definition }: Run): readonly (readonly [string, ReactNode])[] {
  const { dataset, layer = "raw" } = definition;
  if (kind !== "dlt_extract" || status !== "completed" || typeof dataset !== "string") return [];
  return [
    [
      t("Dataset"),
      <Link key="d" href={`/datasets/${layer}/${dataset}`} className="text-accent hover:underline">
        {`${layer}.${dataset}`}
      </Link>,
    ],
  ];
}

function TriggeredBy({ run }: { run: Run }) {
  const { triggerMethod, triggerSourceType, triggerSourceId, automationName } = run;
  if (triggerSourceType === "automation" && triggerSourceId) {
    return (
      <>
        {triggerName(triggerMethod)} ·{" "}
        <Link href={`/automations/${triggerSourceId}`} className="text-accent hover:underline">
          <span dir="auto">{automationName ?? t("Unnamed automation")}</span>
        </Link>
      </>
    );
  }
  return triggerSourceType === "api_key"
    ? `${triggerName(triggerMethod)} · ${t("API key")}`
    : triggerName(triggerMethod);
}
