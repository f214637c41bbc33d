import { Package, Plus } from "lucide-react";
import { Link } from "wouter";
import { useApi, useMay } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { BUNDLE_PAGES, Siblings } from "../parts/layout/siblings.tsx";
import { Pager, useFilters } from "../parts/table/table.tsx";
import { useInstalls } from "../parts/templates/created.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 48;

export default function Bundles() {
  const may = useMay("member");
  const { offset } = useFilters();
  const bundles = useApi("GET /api/v1/bundles", { query: { limit: LIMIT, offset } }, { keep: true });
  const own = useApi("GET /api/v1/templates", {
    query: { template_type: "bundle", status: "published", limit: 100 },
  });
  const installed = new Set(useInstalls()?.map(({ slug }) => slug));
  const isOwn = (id: string) => own.data?.templates.some((template) => template.id === id) === true;
  return (
    <>
      <PageHead title={t("Bundles")} about={t("Ready-made sets of connections, actions and automations.")}>
        {may && (
          <LinkButton href="/templates/new?type=bundle" icon={Plus}>
            {t("New bundle")}
          </LinkButton>
        )}
      </PageHead>
      <Siblings of={BUNDLE_PAGES} label={t("Bundles and templates")} />
      <Shown of={bundles}>
        {(page) =>
          page.bundles.length === 0 ? (
            <div className="card">
              <Empty icon={Package} title={t("No bundles yet")} />
            </div>
          ) : (
            <>
              <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
                {page.bundles.map(({ id, slug, displayName, description, version }) => (
                  <li key={id}>
                    <Link
                      href={`/bundles/${id}`}
                      className="card flex size-full flex-col px-4 py-3 hover:border-accent"
                    >
                      <span className="font-medium [overflow-wrap:anywhere]" dir="auto">
                        {displayName}
                      </span>
                      <span className="mt-1 line-clamp-4 grow text-sm text-soft" dir="auto">
                        {description}
                      </span>
                      <span className="mt-3 flex flex-wrap gap-1">
                        <Tag>{isOwn(id) ? t("Yours") : t("Built in")}</Tag>
                        {version > 1 && <Tag>{t("Version {version}", { version })}</Tag>}
                        {installed.has(slug) && <Tag tone="good">{t("Installed")}</Tag>}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
              {page.total > LIMIT && (
                <div className="mt-4">
                  <Pager {...page} shown={page.bundles.length} />
                </div>
              )}
            </>
          )
        }
      </Shown>
    </>
  );
}
