import { LayoutDashboard } from "lucide-react";
import { Link } from "wouter";
import { useApi } from "../data.ts";
import { isBoard, isDashboard, pageOf, titleOf } from "../parts/artifacts/artifact.ts";
import { useSources } from "../parts/artifacts/source.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { exactly, shortly } from "../parts/base/time.tsx";

/** Of the newest artifacts, and of the newest files, so many are looked through. */
const LIMIT = 100;

export default function Dashboards() {
  const newest = useApi("GET /api/v1/artifacts", { query: { limit: LIMIT } });
  const files = useApi("GET /api/v1/artifacts", { query: { kind: "file", limit: LIMIT } });
  const all = new Map(
    [...(newest.data?.artifacts ?? []), ...(files.data?.artifacts ?? [])].map((each) => [each.id, each]),
  );
  const boards = new Set([...all.values()].filter(isBoard).map(({ actionRunId }) => actionRunId));
  const found = [...all.values()]
    .filter((each) => isBoard(each) || (isDashboard(each) && !boards.has(each.actionRunId)))
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const sourceOf = useSources(found);
  return (
    <>
      <PageHead title="Dashboards" about="Dashboards and pages created by runs, newest first." />
      <Shown of={newest}>
        {() =>
          found.length === 0 ? (
            <div className="card">
              <Empty
                icon={LayoutDashboard}
                title="No dashboards yet"
                action={
                  <>
                    <LinkButton href="/actions/new?kind=create_flashboard" kind="main">
                      Create dashboard
                    </LinkButton>
                    <LinkButton href="/artifacts">View all artifacts</LinkButton>
                  </>
                }
              >
                A dashboard shows datasets as charts and tables, with the SQL behind each panel.
              </Empty>
            </div>
          ) : (
            <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
              {found.map((artifact) => (
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
          )
        }
      </Shown>
    </>
  );
}
