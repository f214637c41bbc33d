import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from "lucide-react";
import type { DragEvent, ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { base } from "../../base.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { counted } from "../base/time.tsx";

export interface Column<T> {
  name: string;
  cell: (row: T) => ReactNode;
  /** Right-aligned, for numbers and times. */
  isRight?: boolean;
  /** Hidden on narrow screens. */
  isMinor?: boolean;
  /** Takes the remaining width. */
  isWide?: boolean;
  /** The title is only for screen readers, for example of columns with buttons or check boxes. */
  isUntitled?: boolean;
  /** Replaces the title in the header. */
  head?: ReactNode;
  /** Field that the header sorts by, if the table is sortable. */
  sortBy?: string;
}

interface Props<T> {
  /** Accessible name. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  /** Target of a row. Its first titled cell is the link, and a click anywhere opens it. */
  hrefOf?: (row: T) => string | null;
  sort?: Sort;
  /** Makes rows draggable. */
  onDrag?: (event: DragEvent, row: T) => void;
}

export interface Sort {
  by: string;
  order: "asc" | "desc";
  onSort: (by: string) => void;
}

export function Table<T>({ label, columns, rows, keyOf, hrefOf, sort, onDrag }: Props<T>) {
  const [, go] = useLocation();
  const linkAt = columns.findIndex(({ isUntitled }) => !isUntitled);
  return (
    // `relative` keeps content for screen readers inside the scrolling area. Otherwise it would widen the page.
    <div className="relative overflow-x-auto">
      <table aria-label={label} className="w-full border-collapse text-sm">
        <thead>
          <tr className="text-left text-xs text-soft">
            {columns.map(({ name, isRight, isMinor, isWide, isUntitled, head, sortBy }) => (
              <th
                key={name}
                scope="col"
                aria-sort={sort && sort.by === sortBy ? ORDERS[sort.order] : undefined}
                className={`h-8 px-3 font-medium sm:px-4 whitespace-nowrap ${isRight ? "text-right" : ""} ${isMinor ? "max-md:hidden" : ""} ${isWide ? "w-full" : ""}`}
              >
                {sort && sortBy ? (
                  <SortButton name={name} by={sortBy} sort={sort} />
                ) : (
                  (head ?? (isUntitled ? <span className="sr-only">{name}</span> : name))
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const href = hrefOf?.(row) ?? null;
            return (
              <tr
                key={keyOf(row)}
                className={`border-t border-line ${href ? "cursor-pointer hover:bg-sunken/60" : ""}`}
                draggable={onDrag !== undefined}
                onDragStart={(event) => onDrag?.(event, row)}
                onClick={(event) => {
                  if (href === null || (event.target as Element).closest("a, button, input, label")) return;
                  if (event.metaKey || event.ctrlKey) window.open(base + href);
                  else go(href);
                }}
              >
                {columns.map(({ name, cell, isRight, isMinor, isWide }, at) => (
                  <td
                    key={name}
                    className={`h-10 px-3 py-1.5 sm:px-4 ${isRight ? "text-right whitespace-nowrap tabular-nums" : ""} ${isMinor ? "max-md:hidden" : ""} ${isWide ? "max-w-0 min-w-32" : ""}`}
                  >
                    {at === linkAt && href ? (
                      <Link href={href} className="font-medium hover:text-accent">
                        {cell(row)}
                      </Link>
                    ) : (
                      cell(row)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const ORDERS = { asc: "ascending", desc: "descending" } as const;

function SortButton({ name, by, sort }: { name: string; by: string; sort: Sort }) {
  const Icon = sort.order === "asc" ? ArrowUp : ArrowDown;
  return (
    <button
      type="button"
      className="inline-flex h-6 items-center gap-1 font-medium hover:text-ink"
      onClick={() => sort.onSort(by)}
    >
      {name}
      {sort.by === by && <Icon size={12} aria-hidden />}
    </button>
  );
}

/** A name with smaller text below it, truncated if there is no room. */
export function Named({ name, below }: { name: string; below?: ReactNode }) {
  return (
    <span className="block min-w-0">
      <span className="block truncate" dir="auto" title={name}>
        {name}
      </span>
      {below && <span className="block truncate text-xs font-normal text-soft">{below}</span>}
    </span>
  );
}

/** URL parameters that don't filter rows. */
const NO_FILTERS: ReadonlySet<string> = new Set(["tab", "sort", "order"]);

export type Filters = ReturnType<typeof useFilters>;

/** Filters stored in the URL, so that links keep them. */
export function useFilters() {
  const [search, setSearch] = useSearchParams();
  return {
    get: (name: string): string => search.get(name) ?? "",
    all: (name: string): string[] => search.getAll(name),
    offset: Math.max(Number(search.get("offset") ?? 0) || 0, 0),
    /** Sets or clears one filter, and returns to the first page. */
    set(name: string, value: string | readonly string[]) {
      this.setAll({ [name]: value });
    },
    /** Sets several filters at once. */
    setAll(values: Readonly<Record<string, string | readonly string[]>>) {
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          if (!("offset" in values)) after.delete("offset");
          for (const [name, value] of Object.entries(values)) {
            after.delete(name);
            for (const each of typeof value === "string" ? [value] : value)
              if (each !== "") after.append(name, each);
          }
          return after;
        },
        { replace: !("offset" in values) },
      );
    },
    /** Clears the filters of the open tab. Tab and order are kept. */
    clear: () =>
      setSearch((before) => new URLSearchParams([...before].filter(([name]) => NO_FILTERS.has(name)))),
    isAny: [...search.keys()].some((name) => name !== "offset" && !NO_FILTERS.has(name)),
  };
}

interface PagerProps {
  offset: number;
  limit: number;
  total: number;
  shown: number;
}

/** Range and total of an offset list, with links to its other pages. */
export function Pager({ offset, limit, total, shown }: PagerProps) {
  const filters = useFilters();
  const onOffset = (to: number) => filters.set("offset", to > 0 ? String(to) : "");
  return (
    <div className="flex items-center justify-between gap-3 border-t border-line px-4 py-1.5 text-xs text-soft">
      <span className="tabular-nums" role="status">
        {total === 0
          ? t("No results")
          : t("{from}–{to} of {total}", {
              from: counted(offset + 1),
              to: counted(offset + shown),
              total: counted(total),
            })}
      </span>
      <span className="flex items-center">
        <IconButton
          icon={ChevronLeft}
          label={t("Previous page")}
          disabled={offset === 0}
          onClick={() => onOffset(offset - limit)}
        />
        <IconButton
          icon={ChevronRight}
          label={t("Next page")}
          disabled={offset + shown >= total}
          onClick={() => onOffset(offset + limit)}
        />
      </span>
    </div>
  );
}

/** Sort order of a list, stored in the URL. Times start with the newest. */
export function useSort<B extends string>(filters: Filters, fields: readonly B[], first: B) {
  const by = fields.find((field) => field === filters.get("sort")) ?? first;
  const firstOrder = (field: B) => (field.endsWith("_at") ? "desc" : "asc");
  const orderText = filters.get("order");
  const order: "asc" | "desc" = orderText === "asc" || orderText === "desc" ? orderText : firstOrder(by);
  return {
    query: { sort_by: by, order },
    sort: {
      by,
      order,
      onSort(to: string) {
        const field = to as B;
        const next = field !== by ? firstOrder(field) : order === "asc" ? "desc" : "asc";
        filters.setAll({ sort: field, order: next });
      },
    },
  };
}
