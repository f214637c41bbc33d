import type { UseQueryResult } from "@tanstack/react-query";
import { type LucideIcon, Plus } from "lucide-react";
import type { ReactNode } from "react";
import type { Action, Automation } from "../../calls.ts";
import { useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { LinkButton } from "../base/button.tsx";
import { named } from "../base/named.ts";
import { Empty, PageHead, Shown } from "../base/page.tsx";
import { StatusIcon } from "../base/status.tsx";
import { When } from "../base/time.tsx";
import { rowsDragged } from "../table/drag-rows.ts";
import { Choice, FilterBar, SearchField } from "../table/filters.tsx";
import { NoMatches } from "../table/no-matches.tsx";
import { SelectionBar, useSelection } from "../table/selection.tsx";
import { type Column, type Filters, Pager, type Sort, Table } from "../table/table.tsx";

const LIMIT = 50;

/** Query parameters of every list: the search and the page. */
export const askOf = (filters: Filters) => ({ q: filters.get("q"), limit: LIMIT, offset: filters.offset });

export const ON_OFF = named<Action["status"]>({ active: t("Active"), disabled: t("Disabled") });

export const AUTOMATION_STATUSES = named<Automation["status"]>({
  active: t("Active"),
  disabled: t("Disabled"),
  draft: t("Draft"),
});

export const LATEST_RUN: Column<Pick<Automation, "latestRun">> = {
  name: t("Latest run"),
  cell: ({ latestRun }) =>
    latestRun ? (
      <span className="flex items-center gap-1.5">
        <StatusIcon status={latestRun.status} />
        <When at={latestRun.completedAt ?? latestRun.startedAt} empty={t("Just now")} />
      </span>
    ) : (
      <span className="text-faint">{t("Never")}</span>
    ),
};

interface Page {
  offset: number;
  limit: number;
  total: number;
}

interface Props<P extends Page, T> {
  /** Title of the page and label of its table. */
  title: string;
  about: string;
  /** Label of the button for a new one. */
  create: string;
  /** Path of the list. Resources are below it by ID, and the form for a new one at `new`. */
  path: string;
  icon: LucideIcon;
  filters: Filters;
  choices: readonly {
    label: string;
    name: string;
    options: readonly (readonly [value: string, name: string])[];
  }[];
  /** Shown above the filters. Rows can be dropped on it. */
  folders?: ReactNode;
  of: UseQueryResult<P, Error>;
  rowsOf: (page: P) => readonly T[];
  columns: readonly Column<T>[];
  sort?: Sort;
  /** Operations on selected rows, for members. */
  bulk?: (chosen: readonly T[], onDone: () => void) => ReactNode;
  /** Shown if the filters match nothing. */
  noMatches: string;
  /** Shown if there are none: title, button and purpose. */
  none: string;
  first: string;
  empty: string;
}

/** A list of named resources with search, filters and paging, which are stored in the URL. */
export function ListPage<P extends Page, T extends { id: string; name: string }>(props: Props<P, T>) {
  const { title, path, filters } = props;
  const may = useMay("member");
  const folder = filters.get("folder");
  const newPath = `${path}/new${folder === "" ? "" : `?folder=${encodeURIComponent(folder)}`}`;
  return (
    <>
      <PageHead title={title} about={props.about}>
        {may && (
          <LinkButton href={newPath} kind="main" icon={Plus}>
            {props.create}
          </LinkButton>
        )}
      </PageHead>
      <div className="card">
        {props.folders}
        <FilterBar onClear={filters.isAny && filters.clear}>
          <SearchField
            label={t("Name or slug")}
            value={filters.get("q")}
            onChange={(value) => filters.set("q", value)}
          />
          {props.choices.map(({ label, name, options }) => (
            <Choice
              key={name}
              label={label}
              value={filters.get(name)}
              options={options}
              onChange={(value) => filters.set(name, value)}
            />
          ))}
        </FilterBar>
        <Shown of={props.of} rows={8}>
          {(page) => {
            const rows = props.rowsOf(page);
            if (rows.length > 0) return <Found {...props} page={page} rows={rows} />;
            return filters.isAny ? (
              <NoMatches title={props.noMatches} onClear={filters.clear} />
            ) : (
              <Empty
                icon={props.icon}
                title={props.none}
                action={
                  may && (
                    <LinkButton href={newPath} kind="main">
                      {props.first}
                    </LinkButton>
                  )
                }
              >
                {props.empty}
              </Empty>
            );
          }}
        </Shown>
      </div>
    </>
  );
}

function Found<P extends Page, T extends { id: string; name: string }>({
  page,
  rows,
  columns,
  bulk,
  ...props
}: Props<P, T> & { page: P; rows: readonly T[] }) {
  const may = useMay("member");
  const { chosen, column, clear } = useSelection(rows, ({ name }) => name);
  return (
    <>
      <Table
        label={props.title}
        columns={may && bulk ? [column, ...columns] : columns}
        rows={rows}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `${props.path}/${id}`}
        {...(props.sort ? { sort: props.sort } : {})}
        {...(may && props.folders ? { onDrag: rowsDragged(chosen) } : {})}
      />
      {bulk && chosen.length > 0 && (
        <SelectionBar count={chosen.length} onClear={clear}>
          {bulk(chosen, clear)}
        </SelectionBar>
      )}
      <Pager {...page} shown={rows.length} />
    </>
  );
}
