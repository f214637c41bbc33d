import type { AuditEvent, EventType, Run } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { runStatusName, type StatusWord } from "../base/status.tsx";
import { type Moment, Timeline } from "../base/timeline.tsx";
import { triggerName } from "./filters.tsx";
import { useRunTrail } from "./trail.ts";

const SHOWN: Readonly<Partial<Record<EventType, readonly [status: StatusWord, title: string]>>> = {
  "action.started": ["running", t("Started")],
  "action.completed": ["completed", t("Completed")],
  "action.failed": ["failed", t("Failed")],
  "action.cancelled": ["cancelled", t("Cancelled")],
};

const momentOf = ({ type, timestamp, data, actor }: AuditEvent, tries: number): Moment | null => {
  const shown = SHOWN[type];
  if (!shown) return null;
  const error = data.error as { message?: string } | undefined;
  return {
    at: timestamp,
    status: shown[0] === "running" ? "active" : shown[0],
    title: type === "action.started" && tries > 1 ? t("Attempt {tries}", { tries }) : shown[1],
    detail: error?.message ?? (actor.type === "user" ? (actor.email ?? null) : null),
  };
};

/** Events of a run in the audit log, from creation to end. */
export function RunTimeline({ run }: { run: Run }) {
  const { events } = useRunTrail(run);
  const moments: Moment[] = [
    {
      at: run.createdAt,
      status: "pending",
      title: t("Queued"),
      detail: t("Trigger: {trigger}", { trigger: triggerName(run.triggerMethod) }),
    },
  ];
  let tries = 0;
  for (const event of events) {
    if (event.type === "action.started") tries++;
    const moment = momentOf(event, tries);
    if (moment) moments.push(moment);
  }
  if (tries === 0 && run.startedAt)
    moments.push({ at: run.startedAt, status: "active", title: t("Started") });
  const isTold = moments.some(({ title }) => [t("Completed"), t("Failed"), t("Cancelled")].includes(title));
  if (run.completedAt && !isTold)
    moments.push({ at: run.completedAt, status: run.status, title: runStatusName(run.displayStatus) });
  if (!run.completedAt) {
    const at = moments.at(-1)?.at ?? run.createdAt;
    if (run.status !== "pending")
      moments.push({ at, status: run.status, title: runStatusName(run.displayStatus) });
  }
  return <Timeline moments={moments} />;
}
