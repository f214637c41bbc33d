import { Type } from "@sinclair/typebox";
import { implied, optional } from "./shape.ts";

/** A schedule: a cron expression and its time zone. */
export const CRON = {
  cron: Type.String({
    minLength: 1,
    maxLength: 200,
    description: "Cron expression: minute, hour, day of month, month, day of week",
    examples: ["0 7 * * 1-5"],
  }),
  timezone: optional(
    implied(
      "UTC",
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: "IANA time zone of the cron expression",
        examples: ["Europe/Berlin"],
      }),
    ),
  ),
};
