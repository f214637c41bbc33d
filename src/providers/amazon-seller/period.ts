import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { ExtractRequest } from "../contract.ts";
import type { SellerLink } from "./shape.ts";

/** Amazon accepts no later end than this. */
const COMPLETE_AFTER_MS = 120_000;

/** Orders are kept for two years; one day less allows for clock and time zone differences. */
const HISTORY_MS = (2 * 365 - 1) * 86_400_000;

/** Period of a resource to read, as ISO 8601. */
export interface Period<By extends string> {
  by: By;
  from: string;
  to: string;
}

/**
 * The period in `range`, by default from two years to two minutes ago; null if it is empty. `fields` maps the cursors
 * that the API can filter by to its own names; the first is the default. Throws `definition_invalid`.
 */
export function readPeriod<By extends string>(
  { clock }: Pick<SellerLink, "clock">,
  { range, spec }: Pick<ExtractRequest, "range" | "spec">,
  fields: Readonly<Record<string, By>>,
  historyMs = HISTORY_MS,
): Period<By> | null {
  const names = Object.keys(fields);
  const by = fields[range?.field ?? names[0] ?? ""];
  if (by === undefined) {
    throw new AppError(
      "definition_invalid",
      `${spec} can be read by ${names.join(" or ")}; "${range?.field}" is nothing that Amazon filters by.`,
    );
  }
  const now = clock.now().getTime();
  const latest = now - COMPLETE_AFTER_MS;
  const from = instantOf(range?.from ?? null) ?? now - historyMs;
  const to = Math.min(instantOf(range?.to ?? null) ?? latest, latest);
  if (from > to) return null;
  return { by, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

export function instantOf(value: Json): number | null {
  if (value === null) return null;
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new AppError(
      "definition_invalid",
      `The cursor value ${JSON.stringify(value)} is not a date and time.`,
    );
  }
  return at;
}
