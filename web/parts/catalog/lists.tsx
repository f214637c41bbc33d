import { useState } from "react";
import { Link } from "wouter";
import type { CatalogEndpoint, CatalogEntry, Reply } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Section } from "../base/page.tsx";
import { counted } from "../base/time.tsx";

type Draft = Reply<"POST /api/v1/api-catalog/{api_id}/connection-template">;
type Listing = NonNullable<CatalogEndpoint["listing"]>;

/** Number of lists to show first. */
const AT_ONCE = 100;

/** Maximum number of candidates to show for an open question. */
const CANDIDATES = 10;

/** What prevents a list from being read completely. Empty if nothing does. */
const missingOf = ({ unresolved }: Listing) =>
  unresolved.filter(({ field }) => field === "endpoint.dataPath" || field === "endpoint.paginator");

/** An open question about a description, with possible answers. */
function Gap({ message, candidates }: Pick<Draft["unresolved"][number], "message" | "candidates">) {
  const names = candidates.filter((each) => typeof each === "string").slice(0, CANDIDATES);
  return (
    <>
      {message}
      {names.length > 0 && <> {rich("It may be {join}.", { join: <code>{names.join(", ")}</code> })}</>}
    </>
  );
}

const PAGES: Record<string, string> = {
  none: t("Single page"),
  link_header: t("Link header"),
  json_link: t("Next-page URL"),
  cursor: t("Cursor"),
  page: t("Page number"),
  offset: t("Offset"),
};

/** Lists of an API, how their rows are read, and a button that creates a connection template. */
export function Lists({ api }: { api: CatalogEntry }) {
  const may = useMay("member");
  const [draft, setDraft] = useState<Draft | null>(null);
  const [shown, setShown] = useState(AT_ONCE);
  const make = useChange("POST /api/v1/api-catalog/{api_id}/connection-template", {
    touches: ["/templates"],
    done: ({ template }) => t("Draft template {slug} created", { slug: template.slug }),
    onDone: setDraft,
  });
  const lists = api.endpoints.flatMap(({ name, path, listing }) =>
    listing ? [{ name, path, listing }] : [],
  );
  const whole = lists.filter(({ listing }) => missingOf(listing).length === 0).length;
  return (
    <>
      {draft && <Made draft={draft} />}
      <Section
        title={t("Lists")}
        aside={
          lists.length > 0
            ? t("{count} of {total} complete", { count: counted(whole), total: counted(lists.length) })
            : undefined
        }
      >
        <p className="mb-3 max-w-2xl text-sm text-soft">
          {t(
            "A connection template offers these lists to extracts by name. Lists with incomplete pagination details are left out, so that no load stops after its first page unnoticed.",
          )}
        </p>
        {lists.length === 0 ? (
          <p className="text-sm text-soft">
            {t("No lists found. Import an OpenAPI or Swagger document to detect them.")}
          </p>
        ) : (
          <table className="w-full text-left text-sm">
            <thead className="text-xs text-soft">
              <tr>
                {[t("Path"), t("Row location"), t("Pagination"), t("Primary key")].map((head) => (
                  <th key={head} scope="col" className="py-1.5 pr-3 font-medium">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {lists.slice(0, shown).map(({ name, path, listing }) => (
                <Line key={name} path={path} listing={listing} />
              ))}
            </tbody>
          </table>
        )}
        {lists.length > shown && (
          <Button kind="quiet" onClick={() => setShown(shown + AT_ONCE)}>
            {t("Show {count} more", { count: counted(lists.length - shown) })}
          </Button>
        )}
        {may && (
          <div className="mt-4">
            <Button
              kind="main"
              busy={make.isPending}
              onClick={() => make.mutate({ path: { api_id: api.id }, body: {} })}
            >
              {t("Create draft connection template")}
            </Button>
          </div>
        )}
      </Section>
    </>
  );
}

function Line({ path, listing }: { path: string; listing: Listing }) {
  const missing = missingOf(listing);
  const { dataPath, paginator } = listing.endpoint as { dataPath?: string; paginator?: { type: string } };
  return (
    <tr className="border-t border-line align-top">
      <th scope="row" className="py-1.5 pr-3 font-normal">
        <Mono text={path} />
      </th>
      {missing.length > 0 ? (
        <td colSpan={3} className="py-1.5 text-warn">
          {missing.map((gap) => (
            <p key={gap.field}>
              <Gap {...gap} />
            </p>
          ))}
        </td>
      ) : (
        <>
          <td className="py-1.5 pr-3">{dataPath ? <code>{dataPath}</code> : t("Whole response")}</td>
          <td className="py-1.5 pr-3">{PAGES[paginator?.type ?? "none"]}</td>
          <td className="py-1.5">
            {listing.primaryKey.length > 0 ? <code>{listing.primaryKey.join(", ")}</code> : t("Unknown")}
          </td>
        </>
      )}
    </tr>
  );
}

/** The created template, and its open questions. */
function Made({ draft: { template, unresolved } }: { draft: Draft }) {
  const [shown, setShown] = useState(AT_ONCE);
  return (
    <Section title={t("Draft template")}>
      <p className="text-sm">
        {rich("{template} Publish this draft to create connections from it.", {
          template: (
            <Link href={`/templates/${template.id}`} className="text-accent underline">
              {template.displayName}
            </Link>
          ),
        })}
      </p>
      {unresolved.length > 0 && (
        <>
          <h3 className="mt-3 mb-1 text-sm font-medium">{t("Missing details")}</h3>
          <ul className="list-disc pl-5 text-sm">
            {unresolved.slice(0, shown).map(({ endpoint, field, ...gap }) => (
              <li key={`${endpoint} ${field}`}>
                {endpoint && (
                  <>
                    <code>{endpoint}</code>:{" "}
                  </>
                )}
                <Gap {...gap} /> <span className="text-soft">({field})</span>
              </li>
            ))}
          </ul>
          {unresolved.length > shown && (
            <Button kind="quiet" onClick={() => setShown(shown + AT_ONCE)}>
              {t("Show {count} more", { count: counted(unresolved.length - shown) })}
            </Button>
          )}
        </>
      )}
    </Section>
  );
}
