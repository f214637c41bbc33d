import {
  Archive,
  Ban,
  Circle,
  CircleCheck,
  CircleDashed,
  CircleSlash,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  OctagonX,
  PencilLine,
  SkipForward,
  TriangleAlert,
} from "lucide-react";
import type {
  Action,
  Approval,
  Automation,
  AutomationRun,
  CatalogEntry,
  CatalogTool,
  Connection,
  DeadLetter,
  Decision,
  InboundDelivery,
  OutboundDelivery,
  Run,
  Template,
  Thread,
  Webhook,
} from "../../calls.ts";
import { t } from "../../texts/text.ts";

export type Tone = "good" | "bad" | "warn" | "busy" | "wait" | "idle";

interface StatusStyle {
  tone: Tone;
  icon: LucideIcon;
  label: string;
}

/** Statuses of the server, and further ones that only the page shows. */
export type StatusWord =
  | Run["status"]
  | Action["status"]
  | Automation["status"]
  | AutomationRun["status"]
  | AutomationRun["steps"][number]["status"]
  | Connection["status"]
  | CatalogEntry["status"]
  | CatalogTool["status"]
  | Template["status"]
  | Webhook["status"]
  | OutboundDelivery["status"]
  | InboundDelivery["status"]
  | DeadLetter["status"]
  | Approval["status"]
  | Decision["status"]
  | NonNullable<Decision["decisionValue"]>
  | Thread["lastTurnStatus"]
  | "stale"
  | "noted";

/** Each status has its own color and shape. */
const STYLES: Readonly<Record<StatusWord, StatusStyle>> = {
  pending: { tone: "idle", icon: CircleDashed, label: t("Queued") },
  running: { tone: "busy", icon: LoaderCircle, label: t("Running") },
  waiting: { tone: "wait", icon: Hourglass, label: t("Waiting") },
  completed: { tone: "good", icon: CircleCheck, label: t("Completed") },
  failed: { tone: "bad", icon: OctagonX, label: t("Failed") },
  cancelled: { tone: "idle", icon: CircleSlash, label: t("Cancelled") },
  skipped: { tone: "idle", icon: SkipForward, label: t("Skipped") },
  active: { tone: "good", icon: CircleCheck, label: t("Active") },
  disabled: { tone: "idle", icon: Ban, label: t("Disabled") },
  error: { tone: "bad", icon: OctagonX, label: t("Error") },
  needs_verification: { tone: "warn", icon: TriangleAlert, label: t("Not verified") },
  processing: { tone: "busy", icon: LoaderCircle, label: t("Processing") },
  processed: { tone: "good", icon: CircleCheck, label: t("Processed") },
  retrying: { tone: "wait", icon: Hourglass, label: t("Retrying") },
  dead_letter: { tone: "bad", icon: OctagonX, label: t("Dead letter") },
  approved: { tone: "good", icon: CircleCheck, label: t("Approved") },
  rejected: { tone: "bad", icon: OctagonX, label: t("Rejected") },
  expired: { tone: "warn", icon: TriangleAlert, label: t("Expired") },
  decided: { tone: "good", icon: CircleCheck, label: t("Decided") },
  stale: { tone: "warn", icon: Hourglass, label: t("Stale") },
  draft: { tone: "idle", icon: PencilLine, label: t("Draft") },
  published: { tone: "good", icon: CircleCheck, label: t("Published") },
  deprecated: { tone: "warn", icon: Archive, label: t("Deprecated") },
  delivered: { tone: "good", icon: CircleCheck, label: t("Delivered") },
  dead: { tone: "bad", icon: OctagonX, label: t("Dead") },
  replaying: { tone: "busy", icon: LoaderCircle, label: t("Replaying") },
  replayed: { tone: "good", icon: CircleCheck, label: t("Replayed") },
  streaming: { tone: "busy", icon: LoaderCircle, label: t("Answering") },
  changed: { tone: "warn", icon: TriangleAlert, label: t("Changed") },
  missing: { tone: "bad", icon: OctagonX, label: t("Missing") },
  noted: { tone: "idle", icon: Circle, label: t("Info") },
};

/** Style of a status. A newer server's unknown status is shown unchanged. */
export const styleOf = (status: StatusWord): StatusStyle =>
  STYLES[status] ?? { tone: "idle", icon: Circle, label: String(status).replaceAll("_", " ") };

/** Names of run statuses. */
const RUN_STATUSES: Readonly<Record<string, string>> = {
  Queued: t("Queued"),
  Running: t("Running"),
  Retrying: t("Retrying"),
  Waiting: t("Waiting"),
  "Waiting for approval": t("Waiting for approval"),
  Completed: t("Completed"),
  Failed: t("Failed"),
  Cancelled: t("Cancelled"),
};

/** Name of a run status in the page's language. A newer server's unknown status is returned unchanged. */
export const runStatusName = (text: string): string => RUN_STATUSES[text] ?? text;

/** A status as part of a sentence, such as `completed`. */
export function inText(status: StatusWord): string {
  const { label } = styleOf(status);
  return label.charAt(0).toLowerCase() + label.slice(1);
}

export const INK: Readonly<Record<Tone, string>> = {
  good: "text-good",
  bad: "text-bad",
  warn: "text-warn",
  busy: "text-busy",
  wait: "text-wait",
  idle: "text-idle",
};
const FILL: Readonly<Record<Tone, string>> = {
  good: "bg-good-soft",
  bad: "bg-bad-soft",
  warn: "bg-warn-soft",
  busy: "bg-busy-soft",
  wait: "bg-wait-soft",
  idle: "bg-idle-soft",
};

export function StatusIcon({ status, size = 15 }: { status: StatusWord; size?: number }) {
  const { icon: Icon, tone, label } = styleOf(status);
  const moves = status === "running" || status === "processing" || status === "streaming";
  return (
    <Icon
      size={size}
      role="img"
      aria-label={label}
      className={`shrink-0 ${INK[tone]} ${moves ? "spin" : ""}`}
    />
  );
}

/** A status as text, with its color and shape. */
export function Status({
  status,
  label,
  isShort = false,
}: {
  status: StatusWord;
  label?: string | undefined;
  /** Shows only the shape on phones, where the text would be too wide. */
  isShort?: boolean;
}) {
  const { icon: Icon, tone, label: known } = styleOf(status);
  const moves = status === "running" || status === "processing" || status === "streaming";
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${INK[tone]} ${FILL[tone]}`}
    >
      <Icon size={13} aria-hidden className={`shrink-0 ${moves ? "spin" : ""}`} />
      <span className={isShort ? "max-sm:sr-only" : ""}>
        {label === undefined ? known : runStatusName(label)}
      </span>
    </span>
  );
}

/** A small word next to a name. */
export function Tag({ children, tone = "idle" }: { children: React.ReactNode; tone?: Tone }) {
  return (
    <span
      className={`inline-block rounded px-1.5 py-px text-xs whitespace-nowrap ${INK[tone]} ${FILL[tone]}`}
    >
      {children}
    </span>
  );
}
