import { LayoutDashboard } from "lucide-react";
import { Link } from "wouter";
import type { Artifact } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { isBoard, isDashboard, pageOf, titleOf } from "../artifacts/artifact.ts";
import { useSources } from "../artifacts/source.ts";
import { exactly, shortly } from "../base/time.tsx";

/** Number of latest artifacts, and of latest files, to search. */
const LIMIT = 100;

/** Dashboards and pages created by runs, newest first. */
export function useMade(): Artifact[] {
  const newest = useApi("GET /api/v1/artifacts", { query: { limit: LIMIT } });
  const files = useApi("GET /api/v1/artifacts", { query: { kind: "file", limit: LIMIT } });
  const all = new Map(
    [...(newest.data?.artifacts ?? []), ...(files.data?.artifacts ?? [])].map((each) => [each.id, each]),
  );
  const boards = new Set([...all.values()].filter(isBoard).map(({ actionRunId }) => actionRunId));
  return [...all.values()]
    .filter((each) => isBoard(each) || (isDashboard(each) && !boards.has(each.actionRunId)))
    .sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** A list with links to their pages. */
export function MadeByRuns({ made }: { made: readonly Artifact[] }) {
  const sourceOf = useSources(made);
  return (
    <section className="mt-8">
      <h2 className="mb-1 text-base font-semibold">{t("From runs")}</h2>
      <p className="mb-3 max-w-prose text-sm text-soft">
        {t(
          "Each shows the data as of its run. Save one as a dashboard to query the data again whenever it is opened.",
        )}
      </p>
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {made.map((artifact) => (
          <li key={artifact.id}>
            <Link
              href={pageOf(artifact)}
              className="card flex size-full items-start gap-3 px-4 py-3 hover:border-accent"
            >
              <LayoutDashboard size={18} aria-hidden className="mt-0.5 shrink-0 text-accent" />
              <span className="min-w-0">
                <span className="block font-medium [overflow-wrap:anywhere]" dir="auto">
                  {titleOf(artifact)}
                </span>
                <span className="block text-xs text-soft">
                  <span className="[overflow-wrap:anywhere]" dir="auto">
                    {sourceOf(artifact)}
                  </span>
                  {" · "}
                  <time dateTime={artifact.createdAt} title={exactly(artifact.createdAt)}>
                    {shortly(artifact.createdAt)}
                  </time>
                </span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
