import { SquareTerminal } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Facts, Section, Shown } from "../base/page.tsx";
import { Tag } from "../base/status.tsx";
import { counted, inWords, shortly, When } from "../base/time.tsx";
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

/** When the dataset was updated, and whether it is late. */
export function Updated({ updatedAt, ...of }: Props & { updatedAt: string }) {
  const freshness = useLoads(of).data?.freshness;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <span>
        {t("Updated")} <When at={updatedAt} />
      </span>
      {freshness?.isLate && <Tag tone="warn">{t("Late")}</Tag>}
    </span>
  );
}

/** How often the dataset is loaded, when the next load is due, and the last loads at a glance. */
export function Freshness(of: Props) {
  const { data } = useLoads(of);
  if (!data) return null;
  const { usualSeconds, expectedAt, isLate, lastLoadAt } = data.freshness;
  return (
    <Section title={t("Freshness")}>
      <Facts
        of={[
          [t("Last load"), <When key="last" at={lastLoadAt} />],
          ...(usualSeconds === null
            ? []
            : [
                [t("Usually every"), inWords(usualSeconds)] as const,
                [t("Next expected"), <When key="next" at={expectedAt} />] as const,
                [
                  t("Status"),
                  <Tag key="status" tone={isLate ? "warn" : "good"}>
                    {isLate ? t("Late") : t("On time")}
                  </Tag>,
                ] as const,
              ]),
        ]}
      />
      {usualSeconds === null && (
        <p className="mt-2 text-xs text-soft">{t("After three loads this shows how often it is loaded.")}</p>
      )}
      <History of={data.loads} />
    </Section>
  );
}

const BAR = { width: 5, gap: 2, height: 36 };

/** Number of rows of each of the last loads, oldest first. The Loads tab has them as text. */
function History({ of: loads }: { of: readonly Load[] }) {
  const bars = loads.toReversed().map(({ loadId, committedAt, tables }) => ({
    loadId,
    committedAt,
    rows: tables?.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0) ?? null,
  }));
  const [oldest, newest] = [bars[0], bars.at(-1)];
  if (!oldest || !newest || bars.length < 2) return null;
  const most = Math.max(1, ...bars.map(({ rows }) => rows ?? 0));
  const label = t("Rows written by the last {count} loads, {from} to {to}. At most {most}.", {
    count: bars.length,
    from: shortly(oldest.committedAt),
    to: shortly(newest.committedAt),
    most: counted(most),
  });
  return (
    <svg
      role="img"
      aria-label={label}
      className="mt-3 block max-w-full text-accent"
      height={BAR.height}
      width={bars.length * (BAR.width + BAR.gap)}
    >
      {bars.map(({ loadId, committedAt, rows }, at) => {
        const height = Math.max(2, ((rows ?? 0) / most) * BAR.height);
        return (
          <rect
            key={loadId}
            x={at * (BAR.width + BAR.gap)}
            y={BAR.height - height}
            width={BAR.width}
            height={height}
            rx={1}
            fill="currentColor"
          >
            <title>{`${shortly(committedAt)}: ${figure(rows ?? undefined, counted)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const signed = (change: number) => (change > 0 ? `+${counted(change)}` : counted(change));

const rowsOf = (load: Load, table: string) => load.tables?.find((each) => each.table === table);

/** Loads of earlier versions have no counts. */
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

/** Loads of a dataset, newest first. A table can be queried as of a load. */
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
