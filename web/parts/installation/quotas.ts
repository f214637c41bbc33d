import type { InstallationOrganization } from "../../calls.ts";
import { counted, sized } from "../base/time.tsx";

export type Quotas = InstallationOrganization["quotas"];
export type Quota = keyof Quotas;

/** How a quota is written in its field. */
export interface QuotaField {
  readonly name: Quota;
  readonly label: string;
  /** What stands behind the number; the number counts so many of what the API counts, as a power of ten. */
  readonly unit: string;
  readonly power: number;
  readonly about: string;
}

/** In the order of the form. */
export const QUOTA_FIELDS: readonly QuotaField[] = [
  {
    name: "storageBytes",
    label: "Storage",
    unit: "GB",
    power: 9,
    about: "Tables, artifacts and uploaded files together.",
  },
  { name: "queuedRuns", label: "Queued runs", unit: "runs", power: 0, about: "Action runs that wait." },
  {
    name: "concurrentRuns",
    label: "Concurrent runs",
    unit: "runs",
    power: 0,
    about: "Action runs that run at once. More of them wait.",
  },
  {
    name: "concurrentQueries",
    label: "Concurrent queries",
    unit: "queries",
    power: 0,
    about: "SQL of people and agents at once.",
  },
  {
    name: "llmTokensPerDay",
    label: "Model tokens",
    unit: "a day",
    power: 0,
    about: "Language model tokens from midnight to midnight UTC.",
  },
];

/** A count of the API as its field shows it, exactly: 10737418240 bytes are `10.73741824` GB. */
export function textOf(count: number | null, power: number): string {
  if (count === null) return "";
  const digits = String(count).padStart(power + 1, "0");
  const whole = digits.slice(0, digits.length - power);
  const rest = digits.slice(digits.length - power).replace(/0+$/, "");
  return rest === "" ? whole : `${whole}.${rest}`;
}

/** The count that a field says, exactly; null for an empty one, undefined for what is no such number. */
export function countOf(text: string, power: number): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const [, whole = "", rest = ""] = /^(\d+)(?:\.(\d+))?$/.exec(trimmed) ?? [];
  if (whole === "" || rest.length > power) return undefined;
  return Number(whole + rest.padEnd(power, "0"));
}

/** The limits that are set, in a line: `10.7 GB, 4 runs at once`; empty where none is. */
export const limitsInWords = (quotas: Quotas): string =>
  [
    quotas.storageBytes === null ? "" : sized(quotas.storageBytes),
    quotas.queuedRuns === null ? "" : `${counted(quotas.queuedRuns)} queued`,
    quotas.concurrentRuns === null ? "" : `${counted(quotas.concurrentRuns)} at once`,
    quotas.concurrentQueries === null ? "" : `${counted(quotas.concurrentQueries)} SQL`,
    quotas.llmTokensPerDay === null ? "" : `${counted(quotas.llmTokensPerDay)} tokens`,
  ]
    .filter(Boolean)
    .join(", ");
