import { ChartLine, Play, Square, Table2 } from "lucide-react";
import { useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { ApiError, call } from "../api.ts";
import type { Reply } from "../calls.ts";
import { useApi } from "../data.ts";
import { Button } from "../parts/base/button.tsx";
import { PageHead, Section } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { inWords } from "../parts/base/time.tsx";
import { Chart } from "../parts/charts/explore.tsx";
import { Code } from "../parts/editor/code.tsx";
import { useTables } from "../parts/form/definition.tsx";
import { QueryFiles } from "../parts/sql/query-files.tsx";
import { Grid } from "../parts/table/grid.tsx";

const LIMITS = [100, 1000, 10_000] as const;
const KEPT = "weir.sql";
const START = "-- Tables are named layer.dataset__table. Ctrl+Enter runs the query.\nSELECT 1 AS one";

type Result = Reply<"POST /api/v1/query">;

export default function Sql() {
  const [search] = useSearchParams();
  const [sql, setSql] = useState(() => search.get("sql") ?? sessionStorage.getItem(KEPT) ?? START);
  const [limit, setLimit] = useState<number>(1000);
  const [ran, setRan] = useState("");
  const [result, setResult] = useState<Result | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [view, setView] = useState<"table" | "chart">("table");
  const stop = useRef<AbortController>(null);
  const tables = useTables();
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const put = (text: string) => {
    setSql(text);
    sessionStorage.setItem(KEPT, text);
  };
  const run = async (text: string) => {
    stop.current?.abort();
    const mine = new AbortController();
    stop.current = mine;
    setBusy(true);
    setProblem(null);
    try {
      setResult(await call("POST /api/v1/query", { body: { sql: text, limit } }, { signal: mine.signal }));
      setRan(text);
    } catch (error) {
      if (!mine.signal.aborted) {
        setResult(null);
        setProblem(
          error instanceof ApiError && error.faults[0]
            ? error.faults[0].msg
            : String((error as Error).message),
        );
      }
    }
    if (stop.current === mine) setBusy(false);
  };
  const cancel = () => {
    stop.current?.abort();
    setBusy(false);
  };
  const seconds = (meta.data?.limits as { sqlSeconds?: number } | undefined)?.sqlSeconds;
  return (
    <>
      <PageHead
        title="SQL"
        about={`Query your organization's tables. Read-only.${seconds ? ` Statements time out after ${inWords(seconds)}.` : ""}`}
      />
      <div className="grid items-start gap-x-5 lg:grid-cols-[minmax(0,1fr)_15rem]">
        <div className="min-w-0">
          <Code
            language="sql"
            label="SQL"
            value={sql}
            onChange={put}
            tables={tables}
            onSubmit={() => void run(sql)}
            minHeight={180}
          />
          <div className="mt-2 mb-5 flex flex-wrap items-center gap-2">
            {isBusy ? (
              <Button icon={Square} onClick={cancel}>
                Cancel query
              </Button>
            ) : (
              <Button kind="main" icon={Play} disabled={sql.trim() === ""} onClick={() => void run(sql)}>
                Run
              </Button>
            )}
            <select
              aria-label="Row limit"
              className="field w-auto"
              value={limit}
              onChange={(event) => setLimit(Number(event.target.value))}
            >
              {LIMITS.map((each) => (
                <option key={each} value={each}>
                  {plural(each, { one: "Up to # row", other: "Up to # rows" })}
                </option>
              ))}
            </select>
            {isBusy && (
              <span className="text-sm text-soft" role="status">
                Running…
              </span>
            )}
          </div>
          {problem && (
            <pre
              role="alert"
              className="mb-5 overflow-x-auto rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 font-mono text-xs whitespace-pre-wrap text-bad"
            >
              {problem}
            </pre>
          )}
          {result && (
            <Section
              title={
                <span role="status">
                  {result.truncated
                    ? plural(result.rowCount, { one: "First row", other: "First # rows" })
                    : plural(result.rowCount, { one: "# row", other: "# rows" })}
                </span>
              }
              flush
              aside={
                <>
                  <span className="tabular-nums">{inWords(result.durationSeconds)}</span>
                  <Button
                    kind="quiet"
                    icon={view === "chart" ? Table2 : ChartLine}
                    onClick={() => setView(view === "chart" ? "table" : "chart")}
                  >
                    {view === "chart" ? "Table" : "Chart"}
                  </Button>
                  <QueryFiles sql={ran} result={result} />
                </>
              }
            >
              {view === "chart" ? (
                <Chart columns={result.columns} rows={result.rows} />
              ) : (
                <Grid columns={result.columns} rows={result.rows} label="Result" height={480} />
              )}
            </Section>
          )}
        </div>
        <Names
          tables={tables}
          onPick={(name) => {
            const text = `SELECT *\nFROM ${name}\nLIMIT 100`;
            put(text);
            void run(text);
          }}
        />
      </div>
    </>
  );
}

function Names({
  tables,
  onPick,
}: {
  tables: Readonly<Record<string, readonly string[]>>;
  onPick: (name: string) => void;
}) {
  const names = Object.keys(tables).sort();
  return (
    <Section title="Tables" flush>
      {names.length === 0 ? (
        <p className="p-4 text-sm text-soft">No tables yet</p>
      ) : (
        <ul className="max-h-[32rem] overflow-y-auto py-1">
          {names.map((name) => (
            <li key={name}>
              <details className="px-3 py-0.5 text-xs">
                <summary className="truncate font-mono">{name}</summary>
                <div className="pt-1 pb-2 pl-4">
                  <button type="button" className="text-accent hover:underline" onClick={() => onPick(name)}>
                    Query this table
                  </button>
                  <ul className="mt-1 font-mono text-soft">
                    {tables[name]?.map((column) => (
                      <li key={column} className="truncate">
                        {column}
                      </li>
                    ))}
                  </ul>
                </div>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
