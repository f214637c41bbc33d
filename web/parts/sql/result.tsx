import { ChartLine, Table2 } from "lucide-react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { inWords } from "../base/time.tsx";
import { chartFor, Explore } from "../charts/explore.tsx";
import { Grid } from "../table/grid.tsx";
import { QueryFiles } from "./query-files.tsx";
import type { Attempt } from "./runs.ts";
import type { Tab } from "./tabs.ts";

interface Props {
  attempt: Attempt;
  tab: Tab;
  onChange: (change: Partial<Tab>) => void;
}

const HEIGHT = 480;

/** Outcome of a statement: rows as a table or chart, a query plan, or an error. */
export function ResultOf({ attempt: { result, problem, sql, parameters }, tab, onChange }: Props) {
  const { view, chart } = tab;
  if (problem)
    return (
      <pre
        role="alert"
        className="mb-5 overflow-x-auto rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 font-mono text-xs whitespace-pre-wrap text-bad"
      >
        {problem}
      </pre>
    );
  if (!result) return null;
  if (result.columns[0]?.name === "explain_key") return <Plan rows={result.rows} />;
  return (
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
            onClick={() =>
              onChange(
                view === "chart"
                  ? { view: "table" }
                  : { view: "chart", chart: chart ?? chartFor(result.columns, result.rows) },
              )
            }
          >
            {view === "chart" ? t("Table") : t("Chart")}
          </Button>
          <QueryFiles sql={sql} parameters={parameters} result={result} />
        </>
      }
    >
      {view === "chart" ? (
        <Explore
          columns={result.columns}
          rows={result.rows}
          chart={chart}
          onChange={(next) => onChange({ chart: next })}
        />
      ) : (
        <Grid columns={result.columns} rows={result.rows} label={t("Result")} height={HEIGHT} />
      )}
    </Section>
  );
}

const Plan = ({ rows }: { rows: readonly Record<string, unknown>[] }) => (
  <Section title={t("Query plan")}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
    <section aria-label={t("Query plan")} tabIndex={0} className="overflow-x-auto">
      <pre className="font-mono text-xs">
        {rows.map(({ explain_value }) => String(explain_value)).join("\n")}
      </pre>
    </section>
  </Section>
);
