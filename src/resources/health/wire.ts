import { type Static, Type } from "@sinclair/typebox";
import { map, object, optional } from "../../base/shape.ts";

const Check = object({
  ok: Type.Boolean(),
  detail: optional(Type.String({ description: "What is wrong, or a measured value." })),
});
export type Check = Static<typeof Check>;

export const Health = object({ status: Type.String() });

export const DeepHealth = object({
  status: Type.String({ description: "`ok`. With status 503: `degraded` or `stopping`." }),
  checks: optional(map(Check)),
});

export const HealthQuery = object({
  deep: Type.Boolean({ default: false, description: "Whether to test the database, the disk and the key" }),
});

export const SmokeQuery = object({
  seconds: Type.Integer({ minimum: 1, maximum: 900, default: 140, description: "Length of the stream" }),
  intervalSeconds: Type.Number({
    minimum: 1,
    maximum: 30,
    default: 10,
    description: "Seconds between two ticks",
  }),
});
export type SmokeQuery = Static<typeof SmokeQuery>;

export const SimulatedError = object({ detail: Type.String(), status: Type.String() });
