import type { ListedRun } from "../../calls.ts";
import { t } from "../../texts/text.ts";

interface Result {
  artifactId?: unknown;
  title?: unknown;
  decisionId?: unknown;
  automationRunId?: unknown;
  output?: { layer?: unknown; dataset?: unknown } | null;
}

export interface WrittenLink {
  href: string;
  name: string;
}

const isText = (value: unknown): value is string => typeof value === "string";

const datasetLink = (layer: unknown, dataset: unknown): WrittenLink[] =>
  isText(layer) && isText(dataset)
    ? [{ href: `/datasets/${layer}/${dataset}`, name: `${layer}.${dataset}` }]
    : [];

/** Links to what a run has written, requested and started. */
export function linksOf({ kind, status, definition, result }: ListedRun): WrittenLink[] {
  if (status !== "completed") return [];
  const { artifactId, title, decisionId, automationRunId, output } = (result ?? {}) as Result;
  return [
    ...(kind === "dlt_extract" ? datasetLink(definition.layer ?? "raw", definition.dataset) : []),
    ...datasetLink(output?.layer, output?.dataset),
    ...(isText(artifactId)
      ? [{ href: `/artifacts/${artifactId}`, name: isText(title) ? title : t("Artifact") }]
      : []),
    ...(isText(decisionId) ? [{ href: `/approvals/${decisionId}`, name: t("Approval") }] : []),
    ...(isText(automationRunId)
      ? [{ href: `/automation-runs/${automationRunId}`, name: t("Automation run") }]
      : []),
  ];
}
