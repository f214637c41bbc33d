import type { Json, JsonObject } from "../../base/json.ts";
import type { SignaturePreset } from "../../crypto/presets.ts";
import type { ActionKind } from "../../executors/contract.ts";

/** One step of an automation (docs/decisions/automations.md). */
export interface Step {
  key: string;
  name?: string;
  actionId?: string;
  kind?: ActionKind;
  definition?: JsonObject;
  connectionId?: string | null;
  /** Keys of steps, or `KEY:BRANCH` for one branch of a `conditional_branch`. */
  dependsOn?: string[];
  /** CEL condition. If it is false, the step is skipped. */
  when?: string;
  /** A template for a list, or the rows of a table. The step runs once for each item. */
  forEach?: string | TableRows;
  /** Number of items that run at once. Default: 10. */
  maxParallel?: number;
  onError?: "fail" | "continue";
  /** How long, or until when, the step waits before it begins. */
  delay?: { seconds?: number | string; until?: string };
  /** Result to use in test runs instead of running the step. */
  pinned?: Json;
}

/** The rows of a table in the lake, as of the start of the step. */
export interface TableRows {
  /** Its name in SQL, such as `marts.orders`. */
  table: string;
  /** SQL. Templates in it become parameters. */
  where?: string;
  orderBy?: string;
  /** Values for `$name` in the SQL, such as a bundle's inputs. */
  parameters?: JsonObject;
  /** Number of rows per item. If set, an item is a list. */
  batch?: number;
}

export interface Schedule {
  cron: string;
  /** An IANA name; UTC by default. */
  timezone?: string;
  /** What to do about runs that were missed while no server was running. Default: `none`. */
  catchUp?: "none" | "last";
}

/** The form for starting a run. The answers are the `payload`. */
export interface FormTrigger {
  title: string;
  description?: string;
  /** JSON Schema of the answers. */
  schema: JsonObject;
  submitLabel?: string;
  /** Default: `signed_in`, the members of the organization. */
  access?: "signed_in" | "public";
}

/** Maximum number of runs of an automation at once, and what happens to runs beyond it. */
export interface Concurrency {
  max: number;
  policy?: "queue" | "skip" | "cancel_previous";
}

/** When an automation counts as stale. */
export interface Expectation {
  /** Seconds since a run last completed. */
  maxSilenceSeconds?: number;
  /** Minimum number of rows that a run produces, in all of its steps together. */
  minRows?: number;
  notifyUrl?: string;
}

/** What is reported about an automation, and to whom. */
interface Alerts {
  onFailure?: boolean;
  /** The first success after a reported failure. */
  onRecovery?: boolean;
  /** Seconds since a run last completed, or was due to start. */
  lateAfterSeconds?: number;
  /** Each entry has one field. */
  notify?: NotifyEntry[];
  /**
   * Only for webhooks, as are the next two: this many failures within the window are reported to the URL.
   * The window is in seconds.
   */
  failureThreshold?: number;
  failureWindow?: number;
  notifyUrl?: string;
}

interface NotifyEntry {
  email?: string;
  /** URL of a Slack incoming webhook. Stored without its last part, which is encrypted separately. */
  slack?: string;
  url?: string;
}

/**
 * How the sender of a webhook authenticates. Stored without its secrets: `token`, `password` and `value` are encrypted
 * separately.
 */
export type SenderAuth =
  | { type: "signature" }
  | { type: "bearer"; token?: string }
  | { type: "basic"; username: string; password?: string }
  | { type: "header"; name: string; value?: string }
  | { type: "ed25519"; publicKey: string; signatureHeader: string; timestampHeader?: string };

/** The fields of an automation's `config` that the engine reads. */
export interface AutomationConfig {
  action?: { kind?: ActionKind; definition?: JsonObject; connectionId?: string | null; actionId?: string };
  steps?: Step[];
  input?: Json;
  concurrency?: Concurrency;
  expect?: Expectation;
  /** JSON Schema of the input of manual runs and of calls. */
  inputSchema?: JsonObject;
  /** Only in requests: it is encrypted separately, and never stored here. */
  secret?: string;
  schedule?: Schedule;
  /** Types of events, wildcards allowed. */
  event?: { types: string[] };
  /** For a webhook or a form. */
  path?: string;
  form?: FormTrigger;
  /** Preset for a known sender, instead of `signatureHeader` and `signatureAlgorithm`. */
  signaturePreset?: SignaturePreset;
  signatureHeader?: string;
  signatureAlgorithm?: "sha256" | "sha1" | "sha512";
  /** Whether a request needs `X-SVC-Timestamp`. */
  requireTimestamp?: boolean;
  /** Default: a signature. */
  auth?: SenderAuth;
  allowedIps?: string[];
  debug?: boolean;
  waitSeconds?: number;
  /** Response to the sender if the run completes in time, with templates over trigger and steps. */
  response?: { status?: number | string; headers?: Record<string, string>; body?: Json };
  retries?: { enabled?: boolean; maxAttempts?: number; backoffSeconds?: number[] };
  alerts?: Alerts;
}

/** Default number of seconds that the sender of a webhook or form waits for the run. */
export const DEFAULT_WAIT_SECONDS = 10;

/** Key of the only step, which `action` defines. */
const ACTION_STEP = "action";

/** Returns the steps, in the definition's order. */
export const stepsOf = (config: AutomationConfig): Step[] =>
  config.steps ?? (config.action ? [{ key: ACTION_STEP, ...config.action }] : []);

/** Parses `route:big` into the step `route` and its branch `big`. */
export function readDependency(text: string): { key: string; branch: string | null } {
  const colon = text.indexOf(":");
  return colon < 0
    ? { key: text, branch: null }
    : { key: text.slice(0, colon), branch: text.slice(colon + 1) };
}

/** A `forEach` as a template. It can be an expression without braces. */
export const forEachTemplate = (forEach: string): string =>
  forEach.includes("{{") ? forEach : `{{${forEach}}}`;
