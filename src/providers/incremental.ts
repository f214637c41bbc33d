import { type Static, Type } from "@sinclair/typebox";
import { anything, described, named, object, optional } from "../base/shape.ts";

/** How a resource is read on from where the load before has left it. */
export const Incremental = object(
  {
    cursorField: described("The column that says how new a row is, such as updated_at", named(1000)),
    initialValue: optional(described("Start of the first load. If omitted, the beginning", anything())),
    lagSeconds: optional(
      described("Lookback window for late-arriving rows", Type.Number({ minimum: 0, maximum: 315_360_000 })),
    ),
    endValue: optional(
      described(
        "Read only rows before this value: a backfill, which doesn't move the stored cursor",
        anything(),
      ),
    ),
  },
  { description: "Load only rows that are new since the last load. Without it, everything is read" },
);
export type Incremental = Static<typeof Incremental>;

/** What the shape can't say; the path is relative to `incremental`. */
export const incrementalFaults = (
  incremental: Incremental | undefined,
): { path: string[]; message: string }[] =>
  incremental?.endValue != null && incremental.initialValue == null
    ? [
        {
          path: ["initialValue"],
          message: "A backfill, which endValue asks for, needs an initialValue.",
        },
      ]
    : [];
