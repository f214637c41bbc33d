import { ChevronRight } from "lucide-react";
import { useState } from "react";
import type { CatalogEndpoint, CatalogEntry, CatalogTool, Schema } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Diff } from "../base/diff.tsx";
import { Check } from "../base/fields.tsx";
import { Status, Tag } from "../base/status.tsx";
import { onlyAdminsChange } from "../base/texts.ts";
import { counted } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { FilterBar, SearchField } from "../table/filters.tsx";
import { endpointItem, type Item, ItemLine, toolItem } from "./pick.tsx";
import { EndpointTester } from "./tester.tsx";

type Any = CatalogEndpoint | CatalogTool;

const isTool = (item: Any): item is CatalogTool => "upstreamName" in item;
const nameOf = (item: Any) => (isTool(item) ? item.upstreamName : item.name);
const toItem = (item: Any): Item => (isTool(item) ? toolItem(item) : endpointItem(item));

interface Flags {
  enabled?: boolean;
  approvalRequired?: boolean;
  trusted?: boolean;
  status?: "active";
}

/** Changes one item. A list in a request replaces all items, but omitted fields of an item are kept. */
function useItemChange(api: CatalogEntry, done: string) {
  const save = useChange("PATCH /api/v1/api-catalog/{api_id}", { touches: ["/api-catalog"], done });
  const with_ = (own: string, name: string, flags: Flags) => (own === name ? flags : {});
  return {
    isPending: save.isPending,
    set(name: string, flags: Flags, onSettled: () => void = () => undefined) {
      const body =
        api.type === "http"
          ? {
              endpoints: api.endpoints.map((each) => ({ name: each.name, ...with_(each.name, name, flags) })),
            }
          : {
              tools: api.tools.map(({ upstreamName }) => ({
                upstreamName,
                ...with_(upstreamName, name, flags),
              })),
            };
      save.mutate({ path: { api_id: api.id }, body: body as never }, { onSettled });
    },
  };
}

/** Number of items to show first. */
const AT_ONCE = 100;

/** Endpoints or tools of an entry, each with its own permission, approval, test and details. */
export function CatalogItems({ api }: { api: CatalogEntry }) {
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(AT_ONCE);
  const all: readonly Any[] = api.type === "http" ? api.endpoints : api.tools;
  const wanted = search.trim().toLowerCase();
  const found = all.filter((item) => {
    const { name, detail, method, description } = toItem(item);
    return [name, detail, method, description].some((text) => text?.toLowerCase().includes(wanted));
  });
  return (
    <div className="card overflow-hidden">
      {all.length > 10 && (
        <FilterBar>
          <SearchField label={t("Search")} value={search} onChange={setSearch} />
          <span className="text-xs text-soft" role="status">
            {t("{count} of {total}", { count: counted(found.length), total: counted(all.length) })}
          </span>
        </FilterBar>
      )}
      <ul>
        {found.slice(0, shown).map((item) => (
          <OneItem key={nameOf(item)} api={api} item={item} />
        ))}
      </ul>
      {found.length === 0 && <p className="p-4 text-sm text-soft">{t("No matches")}</p>}
      {found.length > shown && (
        <div className="border-t border-line p-2 text-center">
          <Button kind="quiet" onClick={() => setShown(shown + AT_ONCE)}>
            {t("Show {count} more", { count: counted(found.length - shown) })}
          </Button>
        </div>
      )}
    </div>
  );
}

function OneItem({ api, item }: { api: CatalogEntry; item: Any }) {
  const drift = isTool(item) && item.status !== "active" ? item.status : null;
  const [chosen, setOpen] = useState<boolean | null>(null);
  const isOpen = chosen ?? drift === "changed"; // what an admin must review is expanded
  const line = toItem(item);
  return (
    <li className="border-b border-line last:border-0">
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex w-full items-start gap-2 px-3 py-2 text-left text-sm hover:bg-sunken/60"
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight
          size={15}
          aria-hidden
          className={`mt-0.5 shrink-0 text-faint ${isOpen ? "rotate-90" : ""}`}
        />
        <ItemLine item={line} />
        <span className="flex shrink-0 flex-wrap justify-end gap-1.5">
          {!item.enabled && <Tag>{t("Disabled")}</Tag>}
          {(item.approvalRequired || api.approvalRequired) && <Tag tone="wait">{t("Needs approval")}</Tag>}
          {drift && <Status status={drift} />}
        </span>
      </button>
      {isOpen && <Opened api={api} item={item} />}
    </li>
  );
}

function Opened({ api, item }: { api: CatalogEntry; item: Any }) {
  const may = useMay("member");
  const isAdmin = useMay("admin");
  const name = nameOf(item);
  const save = useItemChange(api, t("Changes saved"));
  const isDrifted = isTool(item) && item.status !== "active";
  const asksFirst = item.approvalRequired || api.approvalRequired;
  const [wanted, setWanted] = useState<Flags>({}); // shown immediately, before the server responds
  const set = (flags: Flags) => {
    setWanted(flags);
    save.set(name, flags, () => setWanted({}));
  };
  return (
    <div className="space-y-4 border-t border-line bg-ground px-4 py-4 sm:px-9">
      {isTool(item) && item.status === "missing" && (
        <p className="text-sm text-bad">{t("The server no longer offers this tool. Calls are blocked.")}</p>
      )}
      {isTool(item) && item.status === "changed" && <Drift api={api} tool={item} />}
      {item.description && (
        <p className="max-w-prose text-sm whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
          {item.description}
        </p>
      )}
      <div className="flex flex-wrap gap-x-8 gap-y-3">
        <Check
          label={t("Enabled")}
          about={t("Agents and actions can call it.")}
          value={wanted.enabled ?? item.enabled}
          isDisabled={!may || save.isPending}
          onChange={(enabled) => set({ enabled })}
        />
        <Check
          label={t("Require approval for every call")}
          about={api.approvalRequired ? t("Required for the whole API.") : isAdmin ? "" : onlyAdminsChange()}
          value={wanted.approvalRequired ?? asksFirst}
          isDisabled={!isAdmin || api.approvalRequired || save.isPending}
          onChange={(approvalRequired) => set({ approvalRequired })}
        />
        {isTool(item) && item.annotations?.readOnlyHint === true && (
          <Check
            label={t("Read-only")}
            about={
              isAdmin
                ? t(
                    "The server marks this tool read-only. If you trust that, agents call it without approval.",
                  )
                : t("The server marks this tool read-only. Only admins can choose to trust that.")
            }
            value={wanted.trusted ?? item.trusted}
            isDisabled={!isAdmin || save.isPending}
            onChange={(trusted) => set({ trusted })}
          />
        )}
        <div className="text-sm">
          <p className="text-xs text-soft">{t("Name shown to models")}</p>
          <Mono text={item.modelName} />
        </div>
      </div>
      <details className="text-sm">
        <summary className="text-soft">{t("Definition")}</summary>
        <div className="mt-2 rounded-md border border-line bg-raised p-3">
          <Tree value={definitionOf(item)} copyLabel={t("Copy definition as JSON")} />
        </div>
      </details>
      {may && !isDrifted && api.status === "active" && item.enabled && !asksFirst && (
        <details className="text-sm">
          <summary className="text-soft">{t("Test")}</summary>
          <div className="mt-2 rounded-md border border-line bg-raised p-3">
            <EndpointTester api={api} name={name} schema={item.inputSchema as Schema | null} />
          </div>
        </details>
      )}
      {may && asksFirst && (
        <p className="text-xs text-soft">
          {t("This tool requires approval. Test it with an HTTP request action.")}
        </p>
      )}
    </div>
  );
}

function definitionOf(item: Any): Record<string, unknown> {
  if (isTool(item)) {
    const { inputSchema, outputSchema, annotations, definitionHash } = item;
    return { inputSchema, outputSchema, annotations, definitionHash };
  }
  const { headers, queryTemplate, bodyTemplate, inputSchema, responseExtract, source } = item;
  return { headers, queryTemplate, bodyTemplate, inputSchema, responseExtract, source };
}

const DRIFTING = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;
const TITLES = {
  title: t("Title"),
  description: t("Description"),
  inputSchema: t("Arguments"),
  outputSchema: t("Result"),
  annotations: t("Annotations"),
} as const;

/** A tool's current definition next to the approved one. Nobody can call it until an admin has reviewed it. */
function Drift({ api, tool }: { api: CatalogEntry; tool: CatalogTool }) {
  const isAdmin = useMay("admin");
  const save = useItemChange(
    api,
    t("New definition of {upstreamName} approved", { upstreamName: tool.upstreamName }),
  );
  const { pending } = tool;
  const changed = DRIFTING.filter(
    (field) => pending && JSON.stringify(tool[field]) !== JSON.stringify(pending[field]),
  );
  return (
    <div className="space-y-3 rounded-md border border-warn/40 bg-warn-soft/40 p-3">
      <p className="text-sm text-warn">
        {t(
          "This tool's definition changed since it was approved. Calls are blocked until an admin reviews it.",
        )}
      </p>
      {changed.map((field) => (
        <div key={field}>
          <p className="mb-1 text-xs font-medium">{TITLES[field]}</p>
          <Diff
            before={tool[field]}
            after={pending?.[field]}
            label={t("Changes to {field}", { field: TITLES[field] })}
          />
        </div>
      ))}
      {isAdmin ? (
        <Button
          kind="main"
          busy={save.isPending}
          onClick={() => save.set(tool.upstreamName, { status: "active" })}
        >
          {t("Approve new definition")}
        </Button>
      ) : (
        <p className="text-xs text-soft">
          {t("An admin can approve the new definition or remove the tool.")}
        </p>
      )}
    </div>
  );
}
