import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { ExtractRequest } from "../contract.ts";
import type { SellerLink } from "./shape.ts";

/** Amazon accepts no later end than this. */
const COMPLETE_AFTER_MS = 120_000;

/** Orders go back two years; a day is left for the difference of clocks and time zones. */
const HISTORY_MS = (2 * 365 - 1) * 86_400_000;

/** Period of a resource to read, as ISO 8601. */
export interface Period<By extends string> {
  by: By;
  from: string;
  to: string;
}

/**
 * The period that `range` asks for, two years up to two minutes ago where it is open; null where there is nothing in
 * it. `fields` gives for each cursor that the API can filter by what it calls it; the first is read by where there is
 * no cursor. Throws `definition_invalid`.
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
