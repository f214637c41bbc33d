import { Globe, Plug, ScanText } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { PageHead } from "../parts/base/page.tsx";
import { FoundApi } from "../parts/catalog/found.tsx";
import { ByAddress, ByServer, ByText, type Found } from "../parts/catalog/source.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { t } from "../texts/text.ts";

const WAYS = [
  ["address", t("From a URL"), t("An API with an OpenAPI or Swagger description."), Globe, ByAddress],
  [
    "text",
    t("From a file or text"),
    t("OpenAPI, curl, HAR, Postman, or its documentation."),
    ScanText,
    ByText,
  ],
  ["server", t("MCP server"), t("Tools of a Model Context Protocol (MCP) server."), Plug, ByServer],
] as const;

export default function NewApi() {
  const [search, setSearch] = useSearchParams();
  const [found, setFound] = useState<Found | null>(null);
  const way = WAYS.find(([id]) => id === search.get("from"));
  const From = way?.[4];
  return (
    <>
      <PageHead title={t("New API")} from={[["/catalog", t("API catalog")]]} />
      <MembersOnly title={t("You need the member role to add APIs")}>
        {found ? (
          <FoundApi found={found} onBack={() => setFound(null)} />
        ) : (
          <>
            <ul className="mb-5 grid gap-3 sm:grid-cols-3">
              {WAYS.map(([id, name, about, Icon]) => (
                <li key={id}>
                  <button
                    type="button"
                    aria-pressed={id === way?.[0]}
                    onClick={() => setSearch({ from: id }, { replace: true })}
                    className={`card flex size-full flex-col px-4 py-3 text-left hover:border-accent ${id === way?.[0] ? "border-accent" : ""}`}
                  >
                    <span className="flex items-center gap-2 font-medium">
                      <Icon size={16} aria-hidden className="text-soft" />
                      {name}
                    </span>
                    <span className="mt-1 text-sm text-soft">{about}</span>
                  </button>
                </li>
              ))}
            </ul>
            {From && <From key={way[0]} onFound={setFound} />}
          </>
        )}
      </MembersOnly>
    </>
  );
}
