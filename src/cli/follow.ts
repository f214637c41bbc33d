import { systemClock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type JsonObject, parseJson } from "../base/json.ts";
import { capitalized } from "../base/plural.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import type { Host } from "./host.ts";
import { bar } from "./progress.ts";
import { errorText, printJson, secondsText } from "./show.ts";
import { openPatience, openStream } from "./sse.ts";
import type { Api, TextReply } from "./verbs.ts";

export type Run = Reply<"GET /api/v1/action-runs/{run_id}">;
export type AutomationRun = Reply<"GET /api/v1/automation-runs/{run_id}">;
export type LogLine = Reply<"GET /api/v1/action-runs/{run_id}/logs">["items"][number];

const runPath = (id: string) => `/api/v1/action-runs/${id}`;

/**
 * Follows an action run to its end, even if the server restarts. `onLog` gets each line once, with its JSON.
 * Null if the reader of the output is gone.
 */
export async function followRun(
  { api, host }: { api: Api; host: Host },
  id: string,
  onLog: (line: LogLine, text: string) => void = () => undefined,
): Promise<TextReply<Run> | null> {
  const patience = openPatience(host);
  let lastId: string | null = null;
  let seen = 0;
  let status = "";
  try {
    for (;;) {
      let lost: unknown = null;
      try {
        for await (const { id: at, event, data } of await openStream(api, `${runPath(id)}/stream`, {
          lastId,
        })) {
          patience.reward();
          lastId = at ?? lastId;
          const value = parseJson(data);
          if (event === "end") return await endedRun(api, host, id);
          if (!isObject(value)) continue;
          if (event === "status") {
            status = String(value.displayStatus);
            host.status(`${plain(status)} …`);
          } else if (event === "progress") host.status(progressText(status, value));
          else if (event === "log" && Number(value.seq) > seen) {
            seen = Number(value.seq);
            host.status("");
            onLog(value as unknown as LogLine, data);
            if (!host.isRead()) return null;
          }
        }
      } catch (error) {
        lost = error;
      }
      await patience.wait(lost); // without an error, the server ended the stream: it is stopping, or the token expired
    }
  } finally {
    host.status("");
  }
}

async function endedRun(api: Api, host: Host, id: string): Promise<TextReply<Run>> {
  return tenaciously(host, () => api.call("GET /api/v1/action-runs/{run_id}", { path: { run_id: id } }));
}

async function tenaciously<T>(host: Host, work: () => Promise<T>): Promise<T> {
  const patience = openPatience(host);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await patience.wait(error);
    }
  }
}

const POLL_MS = 300;
const LONGEST_POLL_MS = 2_000;
const FINAL: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Waits for the end of an automation run, even if the server restarts. */
export async function awaitAutomationRun(
  { api, host }: { api: Api; host: Host },
  id: string,
): Promise<TextReply<AutomationRun>> {
  try {
    for (let pollMs = POLL_MS; ; pollMs = Math.min(pollMs * 1.2, LONGEST_POLL_MS)) {
      const reply = await tenaciously(host, () =>
        api.call("GET /api/v1/automation-runs/{run_id}", { path: { run_id: id } }),
      );
      if (FINAL.has(reply.body.status)) return reply;
      host.status(stepsText(reply.body));
      await systemClock.sleep(pollMs);
    }
  } finally {
    host.status("");
  }
}

const DONE: ReadonlySet<string> = new Set([...FINAL, "skipped"]);

function stepsText({ displayStatus, steps }: AutomationRun): string {
  const done = steps.filter((step) => DONE.has(step.status)).length;
  const current = steps.filter((step) => ["running", "waiting"].includes(step.status)).map(({ key }) => key);
  const share = steps.length === 0 ? 0 : (100 * done) / steps.length;
  return plain(
    `${displayStatus} ${bar(share)} ${done} of ${steps.length} steps  ${current.join(", ")}`,
  ).trimEnd();
}

/** A run's progress on one line. */
export function progressText(status: string, progress: JsonObject): string {
  const { percent, current, total, unit, phase, message } = progress;
  const amount =
    current === null || current === undefined
      ? null
      : `${current}${total ? ` of ${total}` : ""} ${unit ?? ""}`;
  const parts = [
    status,
    typeof percent === "number" ? `${bar(percent)} ${Math.round(percent)}%` : null,
    phase,
    amount,
    message,
  ];
  return plain(
    parts
      .filter(Boolean)
      .join("  ")
      .replace(/\s*\n\s*/g, " "),
  ).trimEnd();
}

/** Reports how an action run or an automation run ended. Throws if it didn't complete. */
export function reportEnd(host: Host, noun: string, run: Run | AutomationRun, isSilent: boolean): void {
  if (run.status !== "completed") {
    const end = run.status === "failed" ? `failed: ${errorText(run.error)}` : `was ${run.status}.`;
    throw new AppError("unexpected_status", `${capitalized(noun)} ${run.id} ${end}`);
  }
  if (isSilent) return;
  for (const { step, message } of "steps" in run ? warningsOf(run) : [])
    host.err(plain(`Warning: step ${step}: ${message}`));
  const seconds = "durationSeconds" in run ? run.durationSeconds : null;
  host.out(
    `${capitalized(noun)} ${run.id} completed${seconds === null ? "" : ` in ${secondsText(seconds)}`}.`,
  );
  if (run.result !== null) host.out(plain(JSON.stringify(run.result, null, 2)));
}

/** Returns the failed steps of a completed run, and the warnings in other steps' results. */
function warningsOf({ warnings = [], steps, result }: AutomationRun): { step: string; message: string }[] {
  const results = steps.map(({ key }) => ({
    step: key,
    result: isObject(result) ? (steps.length === 1 ? result : result[key]) : null,
  }));
  return [
    ...warnings,
    ...results
      .filter(({ step }) => !warnings.some((warning) => warning.step === step))
      .flatMap(({ step, result }) =>
        isObject(result) && Array.isArray(result.warnings)
          ? result.warnings.map((message) => ({ step, message: String(message) }))
          : [],
      ),
  ];
}

/** Flags of a command that starts an action run. */
export const FOLLOWING = { follow: { type: "boolean" }, wait: { type: "boolean" } } as const;

/** Prints which run was started, or follows it to its end. Throws if it didn't complete. */
export async function showStarted(
  { api, host }: { api: Api; host: Host },
  started: TextReply<Pick<Run, "id">>,
  flags: { json?: boolean; follow?: boolean; wait?: boolean },
): Promise<void> {
  const isJson = flags.json === true;
  const { id } = started.body;
  if (!flags.follow && !flags.wait) {
    if (isJson) return printJson(host, started.text);
    return host.out(`Run ${id} queued. To see it: weir runs get ${id}`);
  }
  const showLine = (line: LogLine, text: string) =>
    isJson ? printJson(host, text) : host.out(logText(line));
  const ended = await followRun({ api, host }, id, flags.follow ? showLine : undefined);
  if (ended === null) return;
  if (isJson) printJson(host, ended.text);
  reportEnd(host, "run", ended.body, isJson);
}

/** A log line for people. */
export const logText = ({ timestamp, level, message }: LogLine): string =>
  plain(`${timestamp}  ${level.padEnd(5)}  ${message}`);
