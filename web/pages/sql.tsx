import { Blocks, Play, Plus, Square, Workflow, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import type { StoredChart } from "../../src/base/chart-spec.ts";
import { useApi, useMay } from "../data.ts";
import { Button, IconButton } from "../parts/base/button.tsx";
import { PageHead } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { inWords } from "../parts/base/time.tsx";
import { notify } from "../parts/base/toast.tsx";
import { AddToDashboard } from "../parts/dashboards/add-to.tsx";
import { Code } from "../parts/editor/code.tsx";
import { useTables } from "../parts/form/definition.tsx";
import { useHistory } from "../parts/sql/history.ts";
import { ParameterFields } from "../parts/sql/parameter-fields.tsx";
import { exactValuesFor, namesIn, textOf, typeOf } from "../parts/sql/parameters.ts";
import { chartOf, type Question, questionOf, sqlOf } from "../parts/sql/question.ts";
import { QuestionBuilder } from "../parts/sql/question-builder.tsx";
import { ResultOf } from "../parts/sql/result.tsx";
import { useRuns } from "../parts/sql/runs.ts";
import { panelOf, readTab, SaveButtons } from "../parts/sql/save.tsx";
import { Side } from "../parts/sql/side.tsx";
import { type Tabs, titleOf, useTabs } from "../parts/sql/tabs.ts";
import { t } from "../texts/text.ts";

const LIMITS = [100, 1000, 10_000] as const;

export default function Sql() {
  const tabs = useTabs();
  const { tab } = tabs;
  const [limit, setLimit] = useState<number>(1000);
  const runs = useRuns();
  const history = useHistory();
  const tables = useTables();
  const may = useMay("member");
  const openSaved = useSaved(tabs);
  const attempt = runs.of(tab.id);
  const isEmpty = tab.sql.trim() === "";
  const run = (sql: string) => {
    if (isEmpty) return;
    history.add(tab.sql);
    void runs.run(tab.id, { sql, parameters: exactValuesFor(tab.sql, tab.parameters), limit });
  };
  /** Converts the builder's question to SQL, and runs it. */
  const ask = (question: Question) => {
    const [sql, chart] = [sqlOf(question), chartOf(question) as StoredChart | null];
    tabs.change(tab.id, { question, sql, chart, view: chart ? "chart" : "table", parameters: {} });
    if (sql !== "") void runs.run(tab.id, { sql, parameters: {}, limit });
  };
  return (
    <>
      <Head tabs={tabs} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-5 lg:grid-cols-[minmax(0,1fr)_15rem]">
        <div className="min-w-0">
          <TabBar tabs={tabs} />
          {tab.question && (
            <QuestionBuilder
              key={`${tab.id} question`}
              question={tab.question}
              isEdited={tab.question.table !== "" && tab.sql !== sqlOf(tab.question)}
              onChange={ask}
            />
          )}
          <Code
            key={tab.id}
            language="sql"
            label="SQL"
            value={tab.sql}
            onChange={(sql) => tabs.change(tab.id, { sql })}
            tables={tables}
            onSubmit={() => run(tab.sql)}
            minHeight={180}
          />
          <ParameterFields
            names={namesIn(tab.sql)}
            parameters={tab.parameters}
            onChange={(parameters) => tabs.change(tab.id, { parameters })}
          />
          <div className="mt-2 mb-5 flex flex-wrap items-center gap-2">
            {attempt.isBusy ? (
              <Button icon={Square} onClick={() => runs.cancel(tab.id)}>
                {t("Cancel query")}
              </Button>
            ) : (
              <Button kind="main" icon={Play} disabled={isEmpty} onClick={() => run(tab.sql)}>
                {t("Run|verb")}
              </Button>
            )}
            <Button icon={Workflow} disabled={isEmpty} onClick={() => run(`EXPLAIN ${tab.sql}`)}>
              {t("Explain")}
            </Button>
            {may && (
              <>
                <SaveButtons key={tab.id} tab={tab} onSaved={(change) => tabs.change(tab.id, change)} />
                <AddToDashboard
                  key={`${tab.id} dashboard`}
                  panels={[panelOf(tab)]}
                  name=""
                  disabled={isEmpty}
                />
              </>
            )}
            <select
              aria-label={t("Row limit")}
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
            {attempt.isBusy && (
              <span className="text-sm text-soft" role="status">
                {t("Running…")}
              </span>
            )}
          </div>
          <ResultOf attempt={attempt} tab={tab} onChange={(change) => tabs.change(tab.id, change)} />
        </div>
        <Side
          past={history.past}
          onTable={(name) => {
            const sql = `SELECT *\nFROM ${name}\nLIMIT 100`;
            const target = tab.saved ? tabs.fresh(sql) : tab;
            if (tab.saved) tabs.open(target);
            else tabs.change(tab.id, { sql, chart: null });
            void runs.run(target.id, { sql, parameters: {}, limit });
          }}
          onSaved={openSaved}
          onPast={(sql) => tabs.openNew(sql)}
          onClear={history.clear}
        />
      </div>
    </>
  );
}

function Head({ tabs: { tab, change } }: { tabs: Tabs }) {
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const seconds = (meta.data?.limits as { sqlSeconds?: number } | undefined)?.sqlSeconds;
  return (
    <PageHead
      title="SQL"
      about={
        seconds
          ? t("Query your organization's tables. Read-only. Statements time out after {seconds}.", {
              seconds: inWords(seconds),
            })
          : t("Query your organization's tables. Read-only.")
      }
    >
      <Button
        icon={Blocks}
        aria-pressed={Boolean(tab.question)}
        onClick={() => change(tab.id, { question: tab.question ? null : questionOf(tab.sql) })}
      >
        {t("Query builder")}
      </Button>
    </PageHead>
  );
}

/** Opens saved queries, and once what the URL contains: `?sql=` or `?query=`, with the `values` of parameters. */
function useSaved(tabs: Tabs): (id: string) => void {
  const [search, setSearch] = useSearchParams();
  const open = (id: string, values?: Record<string, unknown>) => {
    const known = values === undefined && tabs.tabs.find(({ saved }) => saved?.id === id);
    if (known) return tabs.select(known.id);
    readTab(id, values).then(tabs.open, (error: Error) => notify(error.message, "bad"));
  };
  const isDone = useRef(false);
  useEffect(() => {
    if (isDone.current) return;
    isDone.current = true;
    const [sql, query, text] = ["sql", "query", "values"].map((name) => search.get(name));
    if (!sql && !query) return;
    const values = readValues(text ?? null);
    if (query) open(query, values);
    else if (sql) tabs.open({ ...tabs.fresh(sql), parameters: parametersOf(values ?? {}) });
    setSearch({}, { replace: true });
  });
  return open;
}

const parametersOf = (values: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, { type: typeOf(value), text: textOf(value) }]),
  );

/** Undefined unless the text is a JSON object. */
function readValues(text: string | null): Record<string, unknown> | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // someone edited the URL
  }
}

function TabBar({ tabs }: { tabs: Tabs }) {
  return (
    <ul aria-label={t("Open queries")} className="mb-2 flex items-center gap-1 overflow-x-auto">
      {tabs.tabs.map((each) => {
        const isCurrent = each.id === tabs.tab.id;
        const title = titleOf(each);
        return (
          <li
            key={each.id}
            className={`flex shrink-0 items-center rounded-md border ${isCurrent ? "border-accent bg-accent-soft" : "border-line bg-raised"}`}
          >
            <button
              type="button"
              aria-current={isCurrent ? "true" : undefined}
              className="h-7 max-w-44 truncate pl-2.5 text-xs"
              title={title}
              onClick={() => tabs.select(each.id)}
            >
              {title}
            </button>
            <IconButton icon={X} label={t("Close {title}", { title })} onClick={() => tabs.close(each.id)} />
          </li>
        );
      })}
      <li>
        <IconButton icon={Plus} label={t("New tab")} onClick={() => tabs.openNew("")} />
      </li>
    </ul>
  );
}
