import { Ban, RotateCcw } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import type { AutomationRun } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { RunDecisions } from "../parts/approvals/run-decisions.tsx";
import { runCanvas, useCanvasEarly } from "../parts/automation-editor/canvas-early.ts";
import { Button } from "../parts/base/button.tsx";
import { Mono } from "../parts/base/copy.tsx";
import { ErrorMessage } from "../parts/base/error-text.tsx";
import { Later } from "../parts/base/later.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { inWords, When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { inSteps } from "../parts/canvas/config.ts";
import { stepsIn } from "../parts/canvas/steps-config.ts";
import { triggerName } from "../parts/runs/filters.tsx";
import { Origin } from "../parts/runs/origin.tsx";
import { RunAgain } from "../parts/runs/run-again.tsx";
import { type LatestVersion, RunVersion, useLatestVersion } from "../parts/runs/run-version.tsx";
import { RunWaterfall } from "../parts/runs/waterfall.tsx";
import { rich } from "../texts/rich.ts";
import { t } from "../texts/text.ts";

const ENDED = new Set(["completed", "failed", "cancelled"]);
/** Events report starts and ends. Queued steps and items are polled. */
const PROGRESS_MS = 2000;

export default function AutomationRunPage({ id }: { id: string }) {
  const [isOver, setOver] = useState(false);
  const run = useApi(
    "GET /api/v1/automation-runs/{run_id}",
    { path: { run_id: id } },
    isOver ? {} : { refetchMs: PROGRESS_MS },
  );
  const hasEnded = ENDED.has(run.data?.status ?? "");
  useEffect(() => setOver(hasEnded), [hasEnded]);
  useCanvasEarly(run.data?.automationId ?? null);
  return (
    <Shown of={run} isPage>
      {(data) => <Whole run={data} />}
    </Shown>
  );
}

/** Links to the artifacts of the steps. */
function Left({ result }: { result: unknown }) {
  const gave = Object.entries(
    (result ?? {}) as Record<string, { artifactId?: unknown; title?: unknown } | null>,
  );
  return gave.flatMap(([key, value]) =>
    typeof value?.artifactId === "string" ? (
      <Link key={key} href={`/artifacts/${value.artifactId}`} className="text-accent hover:underline">
        {rich("Open {name}", {
          name: (
            <span key="name" dir="auto">
              {String(value.title ?? key)}
            </span>
          ),
        })}
      </Link>
    ) : (
      []
    ),
  );
}

/** The config of a run's version. It is read only if it isn't the automation's current one. */
function useRunConfig(
  { automationId, automationVersion: version }: AutomationRun,
  { latest, isKnown }: LatestVersion,
) {
  const isOld = version !== null && latest !== null && version !== latest;
  const whole = useApi(
    "GET /api/v1/automations/{automation_id}/versions/{version}",
    { path: { automation_id: automationId, version: String(version) } },
    { enabled: isOld, isFixed: true },
  );
  const { config } = (whole.data?.content ?? {}) as { config?: Record<string, unknown> };
  return { isKnown: isKnown && !(isOld && whole.isPending), value: (isOld && config) || null };
}

const RunLink = ({ id }: { id: string }) => (
  <Link href={`/automation-runs/${id}`} className="text-accent hover:underline">
    {id.slice(-12)}
  </Link>
);

function Whole({ run }: { run: AutomationRun }) {
  const may = useMay("member");
  const [, go] = useLocation();
  const automation = useApi("GET /api/v1/automations/{automation_id}", {
    path: { automation_id: run.automationId },
  });
  const path = { path: { run_id: run.id } };
  const touches = ["/automations", "/automation-runs", "/action-runs"] as const;
  const cancel = useChange("POST /api/v1/automation-runs/{run_id}/cancel", {
    touches,
    done: t("Cancelling run…"),
  });
  const retry = useChange("POST /api/v1/automation-runs/{run_id}/retry", {
    touches,
    done: t("New run started"),
    onDone: ({ id }) => go(`/automation-runs/${id}`),
  });
  const latest = useLatestVersion(run);
  const config = useRunConfig(run, latest);
  const error = run.error as { message?: string; code?: string } | null;
  const steps = stepsIn(inSteps(config.value ?? automation.data?.config ?? {}));
  const nameOf = (key: string) => steps.find((step) => step.key === key)?.name ?? key;
  const failed = run.steps.find(({ status }) => status === "failed");
  return (
    <>
      <PageHead
        title={automation.data?.name ?? t("Automation run")}
        from={[
          ["/automations", t("Automations")],
          [`/automations/${run.automationId}`, automation.data?.name ?? t("Automation")],
        ]}
        beside={<Status status={run.status} label={run.displayStatus} />}
        about={
          <span className="flex flex-wrap gap-x-3">
            <span>{t("Run {slice}", { slice: run.id.slice(-12) })}</span>
            <span>{triggerName(run.triggerMethod)}</span>
            <When at={run.createdAt} />
            {run.startedAt && run.completedAt && (
              <span>{inWords((Date.parse(run.completedAt) - Date.parse(run.startedAt)) / 1000)}</span>
            )}
          </span>
        }
      >
        {may &&
          (ENDED.has(run.status) ? (
            <>
              {automation.data && <RunAgain run={run} automation={automation.data} />}
              {run.status === "failed" && (
                <Button
                  busy={retry.isPending}
                  onClick={() => retry.mutate({ ...path, body: { fromFailed: false } })}
                >
                  {t("Rerun from start")}
                </Button>
              )}
              <Button
                icon={RotateCcw}
                busy={retry.isPending}
                onClick={() => retry.mutate({ ...path, body: { fromFailed: run.status === "failed" } })}
              >
                {run.status === "failed" ? t("Retry failed steps") : t("Run again")}
              </Button>
            </>
          ) : (
            <Button kind="bad" icon={Ban} busy={cancel.isPending} onClick={() => cancel.mutate(path)}>
              {t("Cancel run")}
            </Button>
          ))}
      </PageHead>
      {error && (
        <div role="alert" className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm">
          <ErrorMessage text={error.message ?? ""} />
          <p className="flex flex-wrap items-baseline gap-x-4">
            <code className="font-mono text-xs text-soft">{error.code}</code>
            {may && failed && automation.data && (
              <Link
                href={`/automations/${run.automationId}/edit?step=${encodeURIComponent(failed.key)}`}
                className="text-accent [overflow-wrap:anywhere] hover:underline"
              >
                {t("Edit step {key}", { key: nameOf(failed.key) })}
              </Link>
            )}
          </p>
        </div>
      )}
      {run.warnings && (
        <div role="status" className="mb-5 rounded-lg bg-warn-soft px-4 py-3 text-sm text-warn">
          {run.warnings.map(({ step, message }) => (
            <p key={step} className="break-words">
              <span className="font-medium">{nameOf(step)}</span>: {message}
            </p>
          ))}
        </div>
      )}
      <RunDecisions run={run} />
      {automation.data && config.isKnown && (
        <Section title={t("Steps")} flush aside={<RunVersion run={run} latest={latest.latest} />}>
          <Later
            of={runCanvas}
            props={{ automation: automation.data, run, ...(config.value ? { config: config.value } : {}) }}
          />
        </Section>
      )}
      <RunWaterfall run={run} nameOf={nameOf} />
      <div className="grid items-start gap-x-5 lg:grid-cols-2">
        <Origin run={run} />
        <Section title={t("Result")} aside={<Left result={run.result} />}>
          <div className="lg:max-h-[36rem] lg:overflow-y-auto">
            <Tree value={run.result} copyLabel={t("Copy result as JSON")} />
          </div>
        </Section>
      </div>
      <Section title={t("Details")}>
        <Facts
          of={[
            [t("Run"), <Mono key="id" text={run.id} />],
            [t("Trigger"), triggerName(run.triggerMethod)],
            ...(run.parentAutomationRunId
              ? [[t("Retry of"), <RunLink key="parent" id={run.parentAutomationRunId} />] as const]
              : []),
            [t("Created"), <When key="made" at={run.createdAt} />],
            [t("Started"), <When key="started" at={run.startedAt} />],
            [t("Completed"), <When key="ended" at={run.completedAt} empty={t("Not yet")} />],
          ]}
        />
      </Section>
    </>
  );
}
