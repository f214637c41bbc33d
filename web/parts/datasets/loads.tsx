import { SquareTerminal } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Shown } from "../base/page.tsx";
import { Tag } from "../base/status.tsx";
import { counted, inWords, When } from "../base/time.tsx";
import { type Column, Table } from "../table/table.tsx";

type LoadPage = Reply<"GET /api/v1/datasets/{layer}/{dataset}/loads">;
type Load = LoadPage["loads"][number];

const LIMIT = 25;

interface Props {
  layer: string;
  dataset: string;
}

const useLoads = ({ layer, dataset }: Props, offset = 0) =>
  useApi(
    "GET /api/v1/datasets/{layer}/{dataset}/loads",
    { path: { layer, dataset }, query: { limit: LIMIT, offset } } as never,
    { keep: true },
  );

/** When the dataset was updated, how often that usually happens, and whether it is late. */
export function Freshness({ updatedAt, ...of }: Props & { updatedAt: string }) {
  const freshness = useLoads(of).data?.freshness;
  const usual = freshness?.usualSeconds ?? null;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <span>
        {t("Updated")} <When at={updatedAt} />
      </span>
      {usual !== null && <span>{t("Usually every {usual}", { usual: inWords(usual) })}</span>}
      {freshness?.isLate && <Tag tone="warn">{t("Late")}</Tag>}
    </span>
  );
}

const signed = (change: number) => (change > 0 ? `+${counted(change)}` : counted(change));

const rowsOf = (load: Load, table: string) => load.tables?.find((each) => each.table === table);

/** A load of an earlier version has no figures. */
const figure = (value: number | undefined, write: (value: number) => string) =>
  value === undefined ? "–" : write(value);

const columnsOf = (name: string, table: string): readonly Column<Load>[] => [
  { name: t("Loaded"), cell: ({ committedAt }) => <When at={committedAt} /> },
  {
    name: t("By"),
    isWide: true,
    cell: ({ actionRunId, actionName, automationName, kind }) => {
      const title = automationName ?? actionName ?? kind ?? "–";
      return actionRunId === null ? title : <Link href={`/runs/${actionRunId}`}>{title}</Link>;
    },
  },
  { name: t("Rows"), isRight: true, cell: (load) => figure(rowsOf(load, table)?.rows, counted) },
  { name: t("Change"), isRight: true, cell: (load) => figure(rowsOf(load, table)?.rowsChange, signed) },
  {
    name: t("Query as of this load"),
    isUntitled: true,
    cell: ({ loadId, isKept }) =>
      isKept && (
        <Link
          href={`/sql?sql=${encodeURIComponent(`SELECT *\nFROM ${name} AS OF '${loadId}'\nLIMIT 100`)}`}
          aria-label={t("Query the table as of this load")}
          title={t("Query as of this load")}
          className="inline-flex size-7 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink"
        >
          <SquareTerminal size={15} aria-hidden />
        </Link>
      ),
  },
];

/** The loads of a dataset, newest first; a table can be queried as one of them left it. */
export function LoadsOf({ layer, dataset, table, name }: Props & { table: string; name: string }) {
  const [offset, setOffset] = useState(0);
  const loads = useLoads({ layer, dataset }, offset);
  return (
    <Shown of={loads}>
      {(page) => (
        <>
          <Table
            label={t("Loads")}
            columns={columnsOf(name, table)}
            rows={page.loads.filter((load) => load.tables === null || rowsOf(load, table) !== undefined)}
            keyOf={({ loadId }) => loadId}
          />
          {page.total > LIMIT && (
            <div className="flex gap-2 border-t border-line px-4 py-2">
              <Button disabled={offset === 0} onClick={() => setOffset(Math.max(offset - LIMIT, 0))}>
                {t("Newer loads")}
              </Button>
              <Button disabled={!page.hasNext} onClick={() => setOffset(offset + LIMIT)}>
                {t("Older loads")}
              </Button>
            </div>
          )}
        </>
      )}
    </Shown>
  );
}
