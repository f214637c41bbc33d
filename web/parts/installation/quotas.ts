import type { InstallationOrganization } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { sized } from "../base/time.tsx";

export type Quotas = InstallationOrganization["quotas"];
export type Quota = keyof Quotas;

/** A quota as a form field. */
export interface QuotaField {
  readonly name: Quota;
  readonly label: string;
  readonly unit: string;
  /** Number of the API's units per unit of the field. */
  readonly scale: number;
  readonly about: string;
}

/** In form order. */
export const QUOTA_FIELDS: readonly QuotaField[] = [
  {
    name: "storageBytes",
    label: t("Storage"),
    unit: "GiB",
    scale: 2 ** 30,
    about: t("Tables, artifacts and uploaded files."),
  },
  {
    name: "queuedRuns",
    label: t("Queued runs"),
    unit: t("runs"),
    scale: 1,
    about: t("Action runs waiting for a worker."),
  },
  {
    name: "concurrentRuns",
    label: t("Concurrent runs"),
    unit: t("runs"),
    scale: 1,
    about: t("Action runs at the same time. Further runs wait."),
  },
  {
    name: "concurrentQueries",
    label: t("Concurrent queries"),
    unit: t("queries"),
    scale: 1,
    about: t("SQL queries of users and agents at the same time."),
  },
  {
    name: "llmTokensPerDay",
    label: t("Model tokens"),
    unit: t("per day"),
    scale: 1,
    about: t("Language model tokens per day (UTC)."),
  },
];

/** Enough decimals to represent each byte in GiB exactly. */
const DECIMALS = 10;

/** Formats a count of the API exactly: 10737418240 bytes are `10` GiB. */
export const textOf = (count: number | null, scale: number): string =>
  count === null ? "" : String(Number((count / scale).toFixed(DECIMALS)));

/** Parses a field's count. Null if it is empty, undefined if it is invalid. */
export function countOf(text: string, scale: number): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return (scale === 1 ? /^\d+$/ : /^\d+(\.\d+)?$/).test(trimmed)
    ? Math.round(Number(trimmed) * scale)
    : undefined;
}

/** The limits on one line: `10 GiB, 4 concurrent runs`. Empty if there are none. */
export const limitsInWords = (quotas: Quotas): string =>
  [
    quotas.storageBytes === null ? "" : sized(quotas.storageBytes),
    quotas.queuedRuns === null
      ? ""
      : plural(quotas.queuedRuns, { one: "# queued run", other: "# queued runs" }),
    quotas.concurrentRuns === null
      ? ""
      : plural(quotas.concurrentRuns, { one: "# concurrent run", other: "# concurrent runs" }),
    quotas.concurrentQueries === null
      ? ""
      : plural(quotas.concurrentQueries, { one: "# concurrent query", other: "# concurrent queries" }),
    quotas.llmTokensPerDay === null
      ? ""
      : plural(quotas.llmTokensPerDay, { one: "# token per day", other: "# tokens per day" }),
  ]
    .filter(Boolean)
    .join(", ");
