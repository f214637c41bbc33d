import type { Run } from "../../calls.ts";
import { serverSentence, t } from "../../texts/text.ts";
import { Tree } from "../base/tree.tsx";

/** Why a run failed. */
export function Problem({ run: { error } }: { run: Run }) {
  if (!error) return null;
  const { code, message, details, attempt } = error as {
    code?: string;
    message?: string;
    details?: unknown;
    attempt?: number;
  };
  return (
    <div role="alert" className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm">
      <p className="font-medium text-bad [overflow-wrap:anywhere]" dir="auto">
        {message !== undefined && serverSentence(message)}
      </p>
      <p className="mt-0.5 text-xs text-soft">
        <code className="font-mono">{code}</code>
        {attempt !== undefined && ` · ${t("Attempt {attempt}", { attempt })}`}
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
