import {
  Database,
  FileUp,
  LayoutDashboard,
  type LucideIcon,
  Plug,
  RefreshCw,
  SquareTerminal,
} from "lucide-react";
import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useKinds } from "../automations/actions.ts";
import { Button } from "../base/button.tsx";
import { kindStyle } from "../base/kind-icons.tsx";
import { Shown } from "../base/page.tsx";
import { useProviders } from "../base/providers.ts";
import { When } from "../base/time.tsx";
import { Arrow } from "../canvas/arrow.tsx";
import { type Column, Table } from "../table/table.tsx";
import { acrossOf, HEIGHT, type Lineage, type LineageNode, nextNode, WIDTH } from "./lineage-layout.ts";

interface Props {
  layer: string;
  dataset: string;
}

const FAR = 5;
const isNarrow = () => matchMedia("(max-width: 639px)").matches;

/** Sources and consumers of a dataset's rows, as a graph from left to right or as a list. */
export function LineageOf({ layer, dataset }: Props) {
  const [depth, setDepth] = useState<number | null>(null);
  const [isList, setList] = useState(isNarrow);
  const found = useApi(
    "GET /api/v1/datasets/{layer}/{dataset}/lineage/graph",
    { path: { layer, dataset }, query: depth === null ? {} : { depth } },
    { keep: true },
  );
  const name = `${layer}.${dataset}`;
  return (
    <Shown of={found} rows={6}>
      {(lineage) => (
        <>
          <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-1.5 text-xs">
            <fieldset className="inline-flex gap-3">
              <legend className="sr-only">{t("View")}</legend>
              {[[false, t("Graph")] as const, [true, t("List")] as const].map(([each, label]) => (
                <button
                  key={label}
                  type="button"
                  aria-pressed={each === isList}
                  onClick={() => setList(each)}
                  className={`min-h-6 ${each === isList ? "font-medium" : "text-soft hover:text-ink"}`}
                >
                  {label}
                </button>
              ))}
            </fieldset>
            <span className="grow" />
            {lineage.truncated && <span className="text-soft">{t("There is more than shown.")}</span>}
            {lineage.truncated && depth === null && (
              <Button onClick={() => setDepth(FAR)}>{t("Look further")}</Button>
            )}
          </div>
          {isList ? (
            <EdgeList of={lineage} />
          ) : (
            <LineageGraph of={lineage} center={`dataset:${name}`} label={t("Lineage of {name}", { name })} />
          )}
        </>
      )}
    </Shown>
  );
}

interface GraphProps {
  of: Lineage;
  /** ID of the page's dataset. */
  center: string;
  label: string;
}

function LineageGraph({ of: lineage, center, label }: GraphProps) {
  const drawn = useMemo(() => acrossOf(lineage), [lineage]);
  const [lit, setLit] = useState<string | null>(null);
  const frame = useRef<HTMLElement>(null);
  const wordsOf = useWords();
  const names = new Map(lineage.nodes.map((node) => [node.id, wordsOf(node).name]));
  const at = drawn.places.get(center);
  const ordered = lineage.nodes.toSorted((a, b) => {
    const [one, other] = [drawn.places.get(a.id), drawn.places.get(b.id)];
    return one && other ? one.x - other.x || one.y - other.y : 0;
  });
  useLayoutEffect(() => {
    if (!frame.current || !at) return;
    frame.current.scrollLeft = at.x + WIDTH / 2 - frame.current.clientWidth / 2;
    frame.current.scrollTop = at.y + HEIGHT / 2 - frame.current.clientHeight / 2;
  }, [at]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const id = (event.target as HTMLElement).closest<HTMLElement>("[data-node]")?.dataset.node;
    const next = id === undefined ? null : nextNode(drawn, id, event.key);
    if (next === null) return;
    event.preventDefault();
    frame.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  const namesOf = (ids: readonly string[]) => ids.map((id) => names.get(id) ?? "").join(", ");
  return (
    <section
      ref={frame}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
      tabIndex={0}
      onKeyDown={onKeyDown}
      className="relative max-h-[34rem] overflow-auto"
    >
      <Arrow />
      <div className="relative" style={{ width: drawn.width, height: drawn.height }}>
        <svg className="absolute inset-0" width={drawn.width} height={drawn.height} aria-hidden="true">
          {drawn.paths.map(({ id, source, target, path }) => (
            <path
              key={id}
              d={path}
              fill="none"
              markerEnd="url(#step-arrow)"
              style={
                source === lit || target === lit
                  ? { stroke: "var(--accent)", strokeWidth: 2 }
                  : { stroke: "var(--strong-line)", strokeWidth: 1.5 }
              }
            />
          ))}
        </svg>
        <ul>
          {ordered.map((node) => {
            const place = drawn.places.get(node.id);
            const from = drawn.paths.filter(({ target }) => target === node.id).map(({ source }) => source);
            const to = drawn.paths.filter(({ source }) => source === node.id).map(({ target }) => target);
            return (
              place && (
                <li
                  key={node.id}
                  className="absolute"
                  style={{ left: place.x, top: place.y, width: WIDTH, height: HEIGHT }}
                  onMouseEnter={() => setLit(node.id)}
                  onMouseLeave={() => setLit(null)}
                  onFocus={() => setLit(node.id)}
                  onBlur={() => setLit(null)}
                >
                  <Node node={node} isCenter={node.id === center} from={namesOf(from)} to={namesOf(to)} />
                </li>
              )
            );
          })}
        </ul>
      </div>
    </section>
  );
}

const ICONS: Readonly<Partial<Record<LineageNode["type"], LucideIcon>>> = {
  connection: Plug,
  dataset: Database,
  dashboard: LayoutDashboard,
  query: SquareTerminal,
  upload: FileUp,
  sync: RefreshCw,
};

/** Path of a node's page. Null if it was deleted or has no page. */
function hrefOf({ type, resourceId, layer, dataset, updatedAt }: LineageNode): string | null {
  if (type === "dataset") return updatedAt === null ? null : `/datasets/${layer}/${dataset}?tab=lineage`;
  if (resourceId === null) return null;
  const pages: Readonly<Partial<Record<LineageNode["type"], string>>> = {
    connection: `/connections/${resourceId}`,
    action: `/actions/${resourceId}`,
    step: `/automations/${resourceId}`,
    query: `/sql?query=${resourceId}`,
    dashboard: `/dashboards/${resourceId}`,
  };
  return pages[type] ?? null;
}

/** Names the types of nodes, and the nodes. */
function useWords() {
  const { titleOf } = useKinds();
  const providers = useProviders();
  const providerOf = (kind: string) => providers.data?.providers.find(({ id }) => id === kind)?.title ?? kind;
  return ({ type, name, kind, stepKey }: LineageNode): { name: string; about: string } => {
    const title = kind === null ? t("Run") : titleOf(kind);
    switch (type) {
      case "upload":
        return { name: t("Upload"), about: t("File") };
      case "sync":
        return { name: t("Sync"), about: t("Another organization") };
      case "connection":
        return { name, about: kind === null ? t("Connection") : providerOf(kind) };
      case "dataset":
        return { name, about: t("Dataset") };
      case "query":
        return { name, about: t("Saved query") };
      case "dashboard":
        return { name, about: t("Dashboard") };
      case "step":
        return { name: stepKey ?? name, about: `${name} · ${title}` };
      case "run":
        return { name: title, about: t("Run") };
      case "action":
        return { name: name === "" ? title : name, about: title };
    }
  };
}

interface NodeProps {
  node: LineageNode;
  isCenter: boolean;
  /** Names of the source and target. */
  from: string;
  to: string;
}

const CARD = "flex size-full items-center gap-2 rounded-[10px] border px-2 text-left text-sm shadow-xs";

function Node({ node, isCenter, from, to }: NodeProps) {
  const { name, about } = useWords()(node);
  const style = kindStyle(node.kind ?? undefined);
  const Icon = ICONS[node.type] ?? style.icon;
  const href = isCenter ? null : hrefOf(node);
  const tint = ICONS[node.type] ? "bg-idle-soft text-idle" : style.tint;
  const inner = (
    <>
      <span className={`grid size-8 shrink-0 place-items-center rounded-md ${tint}`}>
        <Icon size={16} aria-hidden />
      </span>
      <span className="min-w-0">
        <span className="block truncate font-medium" title={name} dir="auto">
          {name}
        </span>
        <span className="block truncate text-xs text-soft" title={about}>
          {about}
          {node.updatedAt !== null && (
            <>
              {" · "}
              <When at={node.updatedAt} />
            </>
          )}
        </span>
      </span>
      {(from !== "" || to !== "") && (
        <span className="sr-only">
          {[from && t("From: {names}.", { names: from }), to && t("To: {names}.", { names: to })]
            .filter(Boolean)
            .join(" ")}
        </span>
      )}
    </>
  );
  if (href !== null)
    return (
      <Link
        href={href}
        data-node={node.id}
        className={`${CARD} border-strong-line bg-raised hover:border-accent`}
      >
        {inner}
      </Link>
    );
  return (
    <span
      data-node={node.id}
      tabIndex={-1}
      aria-current={isCenter ? "page" : undefined}
      className={`${CARD} ${isCenter ? "border-accent bg-accent-soft" : "border-line bg-raised"}`}
    >
      {inner}
    </span>
  );
}

/** The edges of the graph as a table, for screen readers and narrow screens. */
function EdgeList({ of: { nodes, edges } }: { of: Lineage }) {
  const wordsOf = useWords();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const shown = (id: string) => {
    const node = byId.get(id);
    if (!node) return null;
    const { name, about } = wordsOf(node);
    const href = hrefOf(node);
    return (
      <>
        {href === null ? (
          <span dir="auto">{name}</span>
        ) : (
          <Link href={href} className="text-accent hover:underline" dir="auto">
            {name}
          </Link>
        )}
        <span className="block text-xs text-soft">{about}</span>
      </>
    );
  };
  const columns: readonly Column<Lineage["edges"][number]>[] = [
    { name: t("From"), cell: ({ from }) => shown(from) },
    { name: t("To|direction"), cell: ({ to }) => shown(to), isWide: true },
    { name: t("Last run"), cell: ({ at }) => (at === null ? "–" : <When at={at} />) },
  ];
  return (
    <Table label={t("Lineage")} columns={columns} rows={edges} keyOf={({ from, to }) => `${from} ${to}`} />
  );
}
