import { ChartLine, Table2 } from "lucide-react";
import { useRef, useState } from "react";
import { Link } from "wouter";
import { useApi, useMay } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { DecisionButtons, useDecision } from "../approvals/decision.tsx";
import { Button } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { Locked } from "../base/locked.tsx";
import { plural } from "../base/plural.ts";
import { Status, type StatusWord } from "../base/status.tsx";
import { Tree } from "../base/tree.tsx";
import { visible } from "../base/visible.ts";
import { Chart } from "../charts/explore.tsx";
import { Refusal } from "../form/frame.tsx";
import { Grid } from "../table/grid.tsx";
import type { ToolPart } from "./chunks.ts";

/** Status of a call. */
const STATES: Readonly<Record<ToolPart["state"], readonly [status: StatusWord, label: string]>> = {
  "input-streaming": ["running", t("Writing")],
  "input-available": ["running", t("Running")],
  "approval-requested": ["waiting", t("Needs approval")],
  "approval-responded": ["running", t("Decided")],
  "output-available": ["completed", t("Done")],
  "output-error": ["failed", t("Failed")],
  "output-denied": ["rejected", t("Rejected")],
};

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

interface Result {
  columns: readonly { name: string; dataType: string }[];
  rows: readonly Record<string, unknown>[];
  truncated: boolean;
}

/** The rows of a query. Null for other output. */
function resultOf(output: unknown): Result | null {
  const { columns, rows, truncated } = asObject(output);
  if (!Array.isArray(columns) || !Array.isArray(rows) || columns.length === 0) return null;
  const isColumn = (one: unknown) =>
    typeof asObject(one).name === "string" && typeof asObject(one).dataType === "string";
  return columns.every(isColumn)
    ? { columns, rows: rows.map(asObject), truncated: truncated === true }
    : null;
}

/** Link to the run that a call started. */
function runLink(output: unknown): string | null {
  const { runId, automationRunId } = asObject(output);
  if (typeof automationRunId === "string") return `/automation-runs/${encodeURIComponent(automationRunId)}`;
  return typeof runId === "string" ? `/runs/${encodeURIComponent(runId)}` : null;
}

/** Maximum length of the arguments on one line. */
const SHOWN_CHARACTERS = 120;

function lineOf({ input }: ToolPart): string {
  const { sql, url, query } = asObject(input);
  const text = [sql, url, query].find((each) => typeof each === "string") ?? JSON.stringify(input ?? {});
  const line = String(text).replace(/\s+/g, " ");
  return line === "{}" ? "" : line.slice(0, SHOWN_CHARACTERS);
}

/** A tool call: arguments, status, output, and the approval if it needs one. */
export function ToolCall({ part, isCurrent }: { part: ToolPart; isCurrent: boolean }) {
  const { toolName, state, input, output, errorText } = part;
  const [status, label] = STATES[state] ?? ["pending", state];
  const result = state === "output-available" ? resultOf(output) : null;
  const run = runLink(output);
  const asks = state === "approval-requested";
  return (
    <div className="rounded-md border border-line bg-raised text-sm">
      <details>
        <summary className="flex flex-wrap items-center gap-x-2.5 gap-y-1 px-3 py-1.5">
          <code className="font-mono text-xs font-semibold [overflow-wrap:anywhere]">{toolName}</code>
          <span className="min-w-0 grow basis-32 truncate text-xs text-soft" dir="auto">
            {lineOf(part)}
          </span>
          <Status status={status} label={label} />
        </summary>
        <div className="space-y-3 border-t border-line px-3 py-2.5">
          <div>
            <p className="mb-1 text-xs text-soft">{t("Arguments")}</p>
            <Tree value={input} copyLabel={t("Copy arguments as JSON")} />
          </div>
          {state === "output-available" && (
            <div>
              <p className="mb-1 text-xs text-soft">{t("Result")}</p>
              <Tree value={output} copyLabel={t("Copy result as JSON")} />
            </div>
          )}
        </div>
      </details>
      {errorText && (
        <p className="border-t border-line px-3 py-2 text-bad [overflow-wrap:anywhere]" dir="auto">
          {errorText}
        </p>
      )}
      {result && <Rows of={result} />}
      {run && (
        <p className="border-t border-line px-3 py-1.5 text-xs">
          <Link href={run} className="text-accent hover:underline">
            {t("View run")}
          </Link>
        </p>
      )}
      {asks && part.approval && <Question id={part.approval.id} part={part} isCurrent={isCurrent} />}
      {state === "output-denied" && part.approval?.reason && (
        <p className="border-t border-line px-3 py-2 text-soft" dir="auto">
          {part.approval.reason}
        </p>
      )}
    </div>
  );
}

const HEIGHT = 260;

/** Rows in an answer, as a table or a chart. */
function Rows({ of: { columns, rows, truncated } }: { of: Result }) {
  const [isChart, setChart] = useState(false);
  return (
    <div className="border-t border-line">
      {isChart ? (
        <Chart columns={columns} rows={rows} />
      ) : (
        <Grid columns={columns} rows={rows} label={t("Result rows")} height={HEIGHT} />
      )}
      <div className="flex items-center justify-between gap-2 px-3 py-1 text-xs text-soft">
        <span>
          {truncated
            ? plural(rows.length, { one: "First row", other: "First # rows" })
            : plural(rows.length, { one: "# row", other: "# rows" })}
        </span>
        {rows.length > 1 && (
          <Button kind="quiet" icon={isChart ? Table2 : ChartLine} onClick={() => setChart(!isChart)}>
            {isChart ? t("Show table") : t("Show chart")}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Asks to approve a call with exactly these arguments, once. */
function Question({ id, part, isCurrent }: { id: string; part: ToolPart; isCurrent: boolean }) {
  const may = useMay("member");
  const pending = useApi("GET /api/v1/approvals", { query: { status: "pending" } }, { enabled: isCurrent });
  const isListed = pending.data?.items.some((each) => each.id === id) ?? false;
  const wasListed = useRef(false); // the list may be slightly older than the approval
  if (isListed) wasListed.current = true;
  const isOpen = isCurrent && (isListed || !wasListed.current);
  const decision = useDecision(id, { approved: t("Approved"), rejected: t("Rejected") });
  const text = visible(JSON.stringify(part.input, null, 2));
  return (
    <div className="border-t border-line bg-wait-soft/50 px-3 py-3">
      <Refusal error={decision.error} />
      <p className="mb-2 font-medium">
        {rich("Wants to call {toolName} with these arguments:", {
          toolName: <code className="font-mono text-xs">{part.toolName}</code>,
        })}
      </p>
      <div className="relative mb-3 rounded-md border border-line bg-raised">
        <div className="absolute top-1 right-1">
          <CopyButton text={text} label={t("Copy arguments")} />
        </div>
        <section
          aria-label={t("Arguments to approve")}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
          tabIndex={0}
          className="max-h-80 overflow-auto py-2 pr-10 pl-3"
        >
          <pre dir="ltr" className="font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
            {text}
          </pre>
        </section>
      </div>
      {!isOpen || decision.isMade ? (
        <p className="text-soft">
          {isCurrent ? t("This request has been decided.") : t("This request expired.")}
        </p>
      ) : (
        may && (
          <Locked isOn={decision.isBusy}>
            <DecisionButtons of={decision} />
          </Locked>
        )
      )}
    </div>
  );
}
