import { type Static, Type } from "@sinclair/typebox";
import { CRON } from "../../base/cron-shape.ts";
import { clearable, requestObject } from "../../base/null-shape.ts";
import { described, instant, map, nullable, object, optional, uuid } from "../../base/shape.ts";
import { People } from "../users/wire.ts";
import type { SubscriptionRow } from "./table.ts";

const MAX_RECIPIENTS = 100;

const schedule = object(CRON);
const recipients = Type.Array(uuid(), {
  minItems: 1,
  maxItems: MAX_RECIPIENTS,
  uniqueItems: true,
  description: "User IDs of members. Former members get nothing",
});
const filters = described(
  "Filter values, by the parameter names of the dashboard's URL. Default: the filters' defaults",
  map(Type.String({ maxLength: 10_000 })),
);

export const SubscriptionCreate = requestObject({ schedule, recipients, filters: optional(filters) });
export type SubscriptionCreate = Static<typeof SubscriptionCreate>;

export const SubscriptionPatch = object({
  schedule: optional(schedule),
  recipients: optional(recipients),
  filters: clearable({}, filters),
});
export type SubscriptionPatch = Static<typeof SubscriptionPatch>;

export const DashboardSend = requestObject({ recipients, filters: optional(filters) });
export type DashboardSend = Static<typeof DashboardSend>;

export const DashboardSending = object({
  recipients: described("Number of members who receive it", Type.Integer()),
});

export const DashboardSubscription = object({
  id: uuid(),
  dashboardId: uuid(),
  schedule: object({ cron: Type.String(), timezone: Type.String() }),
  recipients: Type.Array(Type.String()),
  filters: map(Type.String()),
  nextAt: nullable(instant()),
  sentAt: nullable(described("When the mail server last accepted an email", instant())),
  error: nullable(described("Why the last email wasn't sent", Type.String())),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
});
export type DashboardSubscription = Static<typeof DashboardSubscription>;

export const DashboardSubscriptions = object({
  subscriptions: Type.Array(DashboardSubscription),
  users: People,
  warnings: optional(
    Type.Array(Type.String(), { description: "Why nothing is sent. Omitted if emails are sent." }),
  ),
});

export const toSubscription = (row: SubscriptionRow): DashboardSubscription => ({
  id: row.id,
  dashboardId: row.dashboardId,
  schedule: { cron: row.cron, timezone: row.timezone },
  recipients: row.recipients,
  filters: row.filters,
  nextAt: row.nextAt,
  sentAt: row.sentAt,
  error: row.error,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  createdBy: row.createdBy,
  updatedBy: row.updatedBy,
});

export const exampleSubscription: DashboardSubscription = {
  id: "01890a5d-ac96-774b-bcce-b302099a8071",
  dashboardId: "01890a5d-ac96-774b-bcce-b302099a8061",
  schedule: { cron: "0 7 * * 1-5", timezone: "Europe/Berlin" },
  recipients: ["01890a5d-ac96-774b-bcce-b302099a8062"],
  filters: { country: "CH" },
  nextAt: "2026-01-02T06:00:00.000Z",
  sentAt: "2026-01-01T06:00:02.000Z",
  error: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  createdBy: "01890a5d-ac96-774b-bcce-b302099a8062",
  updatedBy: "01890a5d-ac96-774b-bcce-b302099a8062",
};
