import { Link } from "wouter";
import type { Run } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { ContentLink } from "../artifacts/content-link.tsx";
import { Section } from "../base/page.tsx";
import { sized } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";

/** Summary that a run has instead of a result that was too large. */
interface Kept {
  artifactId: string;
  summary: { bytes?: number; fields?: Record<string, unknown>; large?: string[] };
}

function keptOf(result: unknown): Kept | null {
  const { artifactId, summary } = (result ?? {}) as { artifactId?: unknown; summary?: unknown };
  return typeof artifactId === "string" && typeof summary === "object" && summary !== null
    ? ({ artifactId, summary } as Kept)
    : null;
}

/** The result. If it was too large for the run, a summary with a link to all of it. */
export function Output({ run: { result }, isOver }: { run: Run; isOver: boolean }) {
  if (result === null)
    return <p className="text-sm text-faint">{isOver ? t("No output") : t("No output yet")}</p>;
  const kept = keptOf(result);
  if (kept === null) return <Tree value={result} copyLabel={t("Copy output as JSON")} />;
  const { bytes, fields, large = [] } = kept.summary;
  return (
    <>
      <p className="mb-3 text-sm text-soft">
        {bytes === undefined
          ? t("The full result is stored as an artifact because it exceeds the size limit.")
          : t("The full result ({bytes}) is stored as an artifact because it exceeds the size limit.", {
              bytes: sized(bytes),
            })}{" "}
        {large.length > 0 && ` ${t("Large fields: {names}.", { names: large.join(", ") })}`}
      </p>
      <p className="mb-3 flex flex-wrap gap-4 text-sm">
        <Link href={`/artifacts/${kept.artifactId}`} className="text-accent hover:underline">
          {t("View result")}
        </Link>
        <ContentLink id={kept.artifactId} file="result.json" name={t("Download result")} />
      </p>
      <Tree value={fields ?? kept.summary} copyLabel={t("Copy summary as JSON")} />
    </>
  );
}

/** Artifacts of the run. */
export function Artifacts({ runId, isOver }: { runId: string; isOver: boolean }) {
  const artifacts = useApi(
    "GET /api/v1/artifacts",
    { query: { action_run_id: runId, limit: 20 } },
    { enabled: isOver },
  );
  if (!artifacts.data || artifacts.data.total === 0) return null;
  return (
    <Section title={t("Artifacts")}>
      <ul className="space-y-1 text-sm">
        {artifacts.data.artifacts.map(({ id, title, kind }) => (
          <li key={id} className="flex items-center gap-3">
            <Link href={`/artifacts/${id}`} className="min-w-0 truncate text-accent hover:underline">
              <span dir="auto">{title ?? id}</span>
            </Link>
            <span className="text-soft">{kind}</span>
            <span className="ml-auto">
              <ContentLink id={id} file={title ?? id} name={t("Download")} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
