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
  /** How many items go at once; 10 by default. */
  maxParallel?: number;
  onError?: "fail" | "continue";
  /** How long the step waits before it begins, or until when. */
  delay?: { seconds?: number | string; until?: string };
  /** A result that stands in for the step in test runs. */
  pinned?: Json;
}

/** The rows of a table of the lake, as they are when the step begins. */
export interface TableRows {
  /** As SQL names it, such as `marts.orders`. */
  table: string;
  /** SQL; templates in it become parameters. */
  where?: string;
  orderBy?: string;
  /** Values for `$name` in the SQL: what a bundle's inputs become there. */
  parameters?: JsonObject;
  /** Number of rows in one item, which is then a list. */
  batch?: number;
}

export interface Schedule {
  cron: string;
  /** An IANA name; UTC by default. */
  timezone?: string;
  /** What becomes of instants that fell into a time when no server ran; `none` by default. */
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

/** How many runs of an automation go at once, and what becomes of one that comes on top. */
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

/** What is told of an automation, and to whom. */
interface Alerts {
  onFailure?: boolean;
  /** The first success after a failure that was told. */
  onRecovery?: boolean;
  /** Seconds since a run last completed, or was to start. */
  lateAfterSeconds?: number;
  /** Each of them with one field. */
  notify?: NotifyEntry[];
  /** Of a webhook, with the two that follow: so many failures in the window, in seconds, are told to the address. */
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
 * How the sender of a webhook proves who it is. Stored without what is secret in it: `token`, `password` and `value`
 * are sealed apart.
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
  /** Only as it is given: it is sealed apart, and never stored here. */
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

/** The key of the one step that `action` stands for. */
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

/** A `forEach` as a template; an expression may stand there without its braces. */
export const forEachTemplate = (forEach: string): string =>
  forEach.includes("{{") ? forEach : `{{${forEach}}}`;
