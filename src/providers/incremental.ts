import { type Static, Type } from "@sinclair/typebox";
import { anything, described, named, object, optional } from "../base/shape.ts";

/** How a load continues from the previous one. */
export const Incremental = object(
  {
    cursorField: described(
      "Column that increases with new and changed rows, such as updated_at",
      named(1000),
    ),
    initialValue: optional(
      described("Cursor value where the first load starts. Default: the beginning", anything()),
    ),
    lagSeconds: optional(
      described(
        "Lookback window for late rows, in seconds. Default: 0",
        Type.Number({ minimum: 0, maximum: 315_360_000 }),
      ),
    ),
    endValue: optional(
      described("Cursor value before which a backfill ends. The stored cursor doesn't move", anything()),
    ),
  },
  { description: "Loads only rows that are new since the last load. If omitted, every run reads everything" },
);
export type Incremental = Static<typeof Incremental>;

/** Errors that the shape can't express. The path is relative to `incremental`. */
export const incrementalFaults = (
  incremental: Incremental | undefined,
): { path: string[]; message: string }[] =>
  incremental?.endValue != null && incremental.initialValue == null
    ? [
        {
          path: ["initialValue"],
          message: "A backfill with endValue requires initialValue.",
        },
      ]
    : [];
