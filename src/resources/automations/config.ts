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
  /** CEL; a step whose condition does not hold is skipped. */
  when?: string;
  /** A template that gives a list, or the rows of a table; the step is carried out for each of its items. */
  forEach?: string | TableRows;
  /** Number of items that run at once. Default: 10. */
  maxParallel?: number;
  onError?: "fail" | "continue";
  /** How long the step waits before it begins, or until when. */
  delay?: { seconds?: number | string; until?: string };
  /** Result to use in test runs instead of running the step. */
  pinned?: Json;
}

/** The rows of a table of the lake, as they are when the step begins. */
export interface TableRows {
  /** As SQL names it, such as `marts.orders`. */
  table: string;
  /** SQL; templates in it become parameters. */
  where?: string;
  orderBy?: string;
  /** Values for `$name` in the SQL, such as a bundle's inputs. */
  parameters?: JsonObject;
  /** Number of rows in one item, which is then a list. */
  batch?: number;
}

export interface Schedule {
  cron: string;
  /** An IANA name; UTC by default. */
  timezone?: string;
  /** What to do with times that were missed while no server was running. Default: `none`. */
  catchUp?: "none" | "last";
}

/** What people fill in to start a run; their answers are the `payload`. */
export interface FormTrigger {
  title: string;
  description?: string;
  /** JSON Schema of the answers. */
  schema: JsonObject;
  submitLabel?: string;
  /** `signed_in` by default: the members of the organization. */
  access?: "signed_in" | "public";
}

/** How many runs of an automation execute at once, and what to do with one beyond that. */
export interface Concurrency {
  max: number;
  policy?: "queue" | "skip" | "cancel_previous";
}

/** When an automation counts as stale. */
export interface Expectation {
  /** Seconds since a run last completed. */
  maxSilenceSeconds?: number;
  /** Rows that a run makes, all of its steps together. */
  minRows?: number;
  notifyUrl?: string;
}

/** What is reported about an automation, and to whom. */
interface Alerts {
  onFailure?: boolean;
  /** The first success after a reported failure. */
  onRecovery?: boolean;
  /** Seconds since a run last completed, or was to start. */
  lateAfterSeconds?: number;
  /** Each with one field. */
  notify?: NotifyEntry[];
  /** Only for webhooks, with the next two: this many failures in the window, in seconds, are reported to the URL. */
  failureThreshold?: number;
  failureWindow?: number;
  notifyUrl?: string;
}

interface NotifyEntry {
  email?: string;
  /** Of an incoming webhook of Slack; stored without its last part, which is sealed apart. */
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

/** What an automation's `config` holds, as far as the engine reads it. */
export interface AutomationConfig {
  action?: { kind?: ActionKind; definition?: JsonObject; connectionId?: string | null; actionId?: string };
  steps?: Step[];
  input?: Json;
  concurrency?: Concurrency;
  expect?: Expectation;
  /** JSON Schema of the input of runs by hand and of calls. */
  inputSchema?: JsonObject;
  /** Only in requests: it is encrypted separately, and never stored here. */
  secret?: string;
  schedule?: Schedule;
  /** Types of events, wildcards allowed. */
  event?: { types: string[] };
  /** Of a webhook or a form. */
  path?: string;
  form?: FormTrigger;
  /** A common sender, instead of `signatureHeader` and `signatureAlgorithm`. */
  signaturePreset?: SignaturePreset;
  signatureHeader?: string;
  signatureAlgorithm?: "sha256" | "sha1" | "sha512";
  /** Whether a request needs `X-SVC-Timestamp`. */
  requireTimestamp?: boolean;
  /** A signature by default. */
  auth?: SenderAuth;
  allowedIps?: string[];
  debug?: boolean;
  waitSeconds?: number;
  /** What the sender gets when the run has completed in time; templates over trigger and steps. */
  response?: { status?: number | string; headers?: Record<string, string>; body?: Json };
  retries?: { enabled?: boolean; maxAttempts?: number; backoffSeconds?: number[] };
  alerts?: Alerts;
}

/** For how long a webhook's or form's sender waits for the run if the config doesn't say. */
export const DEFAULT_WAIT_SECONDS = 10;

/** Key of the only step, which `action` defines. */
const ACTION_STEP = "action";

/** The work as steps, in the definition's order. */
export const stepsOf = (config: AutomationConfig): Step[] =>
  config.steps ?? (config.action ? [{ key: ACTION_STEP, ...config.action }] : []);

/** `route:big` → the step `route` and its branch `big`. */
export function readDependency(text: string): { key: string; branch: string | null } {
  const colon = text.indexOf(":");
  return colon < 0
    ? { key: text, branch: null }
    : { key: text.slice(0, colon), branch: text.slice(colon + 1) };
}

/** A `forEach` as a template. It can be an expression without braces. */
export const forEachTemplate = (forEach: string): string =>
  forEach.includes("{{") ? forEach : `{{${forEach}}}`;
