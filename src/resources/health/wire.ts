import { type Static, Type } from "@sinclair/typebox";
import { map, object, optional } from "../../base/shape.ts";

const Check = object({
  ok: Type.Boolean(),
  detail: optional(Type.String({ description: "What is wrong, or a figure." })),
});
export type Check = Static<typeof Check>;

export const Health = object({ status: Type.String() });

export const DeepHealth = object({
  status: Type.String({ description: "`ok`; with 503 `degraded`, or `stopping`." }),
  checks: optional(map(Check)),
});

export const HealthQuery = object({ deep: Type.Boolean({ default: false }) });

export const SmokeQuery = object({
  seconds: Type.Integer({ minimum: 1, maximum: 900, default: 140 }),
  intervalSeconds: Type.Number({ minimum: 1, maximum: 30, default: 10 }),
});
export type SmokeQuery = Static<typeof SmokeQuery>;

export const SimulatedError = object({ detail: Type.String(), status: Type.String() });
