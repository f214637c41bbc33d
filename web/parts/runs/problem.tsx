import { Link } from "wouter";
import type { Run } from "../../calls.ts";
import { useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { ErrorMessage } from "../base/error-text.tsx";
import { Tree } from "../base/tree.tsx";

/** Why a run failed, with a link to change what it ran. */
export function Problem({ run }: { run: Run }) {
  const { error } = run;
  if (!error) return null;
  const { code, message, details, attempt } = error as {
    code?: string;
    message?: string;
    details?: unknown;
    attempt?: number;
  };
  return (
    <div role="alert" className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm">
      {message !== undefined && <ErrorMessage text={message} />}
      <p className="mt-0.5 text-xs text-soft">
        <code className="font-mono">{code}</code>
        {attempt !== undefined && ` · ${t("Attempt {attempt}", { attempt })}`}
        <EditLink of={run} />
      </p>
      {details !== undefined && details !== null && (
        <details className="mt-2">
          <summary className="text-xs text-soft">{t("Details")}</summary>
          <div className="mt-2">
            <Tree value={details} copyLabel={t("Copy details as JSON")} />
          </div>
        </details>
      )}
    </div>
  );
}

function EditLink({
  of: { actionId, actionName, automationId, automationName, stepKey, stepName },
}: {
  of: Run;
}) {
  const may = useMay("member");
  if (!may) return null;
  const [href, name] =
    actionId && actionName
      ? [`/actions/${actionId}`, t("Edit action")]
      : automationId && automationName && stepKey
        ? [
            `/automations/${automationId}/edit?step=${encodeURIComponent(stepKey)}`,
            t("Edit step {key}", { key: stepName ?? stepKey }),
          ]
        : [];
  if (href === undefined) return null;
  return (
    <Link href={href} className="ml-4 text-sm text-accent [overflow-wrap:anywhere] hover:underline">
      {name}
    </Link>
  );
}

/** Progress of a run. */
export function Progress({ run: { progress, status } }: { run: Run }) {
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
          aria-label={t("Progress")}
        />
      )}
    </div>
  );
}
