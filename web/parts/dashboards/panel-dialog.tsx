import { Blocks, Play } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type ChartSpec, type StoredChart, specOf, suggestChart } from "../../../src/base/chart-spec.ts";
import type { SavedQuery } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { ChartBuilder } from "../charts/builder.tsx";
import { Code } from "../editor/code.tsx";
import { useTables } from "../form/definition.tsx";
import { chartOf, type Question, questionOf, sqlOf } from "../sql/question.ts";
import { QuestionBuilder } from "../sql/question-builder.tsx";
import { PanelBody } from "./board.tsx";
import type { DraftFilter, DraftPanel } from "./draft.ts";
import { COLUMNS } from "./layout.ts";
import { usePanelData } from "./panel-data.ts";
import { namesOf } from "./values.ts";

const PREVIEW_HEIGHT = 260;

interface Props {
  panel: DraftPanel;
  isNew: boolean;
  filters: readonly DraftFilter[];
  queries: readonly SavedQuery[];
  onSave: (panel: DraftPanel) => void;
  onClose: () => void;
}

/** Edits a panel: its title, its SQL or saved query, its chart and its size. */
export function PanelDialog({ panel: initial, isNew, filters, queries, onSave, onClose }: Props) {
  const [panel, setPanel] = useState(initial);
  /** The last executed state, since not every keystroke is executed. */
  const [ran, setRan] = useState(initial);
  const set = (change: Partial<DraftPanel>) => setPanel({ ...panel, ...change });
  const [question, setQuestion] = useState<Question | null>(isNew ? questionOf("") : null);
  const ask = (newQuestion: Question) => {
    const next = { ...panel, sql: sqlOf(newQuestion), chart: chartOf(newQuestion) as StoredChart | null };
    setQuestion(newQuestion);
    setPanel(next);
    setRan(next);
  };
  const data = usePanelData(ran, filters, queries);
  const columns = data?.columns ?? [];
  const isTold = panel.title.trim() !== "" && (panel.queryId !== null || (panel.sql ?? "").trim() !== "");
  return (
    <Dialog
      title={isNew ? t("Add panel") : t("Edit panel")}
      isWide
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" disabled={!isTold} onClick={() => onSave(panel)}>
            {isNew ? t("Add panel") : t("Apply")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          label={t("Title")}
          isRequired
          maxLength={255}
          value={panel.title}
          onChange={(title) => set({ title })}
        />
        <Source panel={panel} filters={filters} queries={queries} set={set} onRun={() => setRan(panel)}>
          {question && (
            <QuestionBuilder
              question={question}
              isEdited={question.table !== "" && panel.sql !== sqlOf(question)}
              onChange={ask}
            />
          )}
        </Source>
        <div className="flex gap-2">
          <Button icon={Play} onClick={() => setRan(panel)}>
            {t("Preview")}
          </Button>
          {panel.queryId === null && (
            <Button
              icon={Blocks}
              aria-pressed={question !== null}
              onClick={() => setQuestion(question ? null : questionOf(panel.sql ?? ""))}
            >
              {t("Query builder")}
            </Button>
          )}
        </div>
        {columns.length > 0 && (
          <ChartOf panel={panel} columns={columns} rowCount={data?.rowCount ?? 0} set={set} />
        )}
        {columns.length > 0 && filters.length > 0 && (
          <Clicks panel={panel} columns={columns} filters={filters} set={set} />
        )}
        {(columns.length > 0 || data?.error) && (
          <div
            className={`overflow-hidden rounded-md border border-line ${panel.chart ? "p-3" : ""}`}
            style={{ height: PREVIEW_HEIGHT }}
          >
            <PanelBody panel={panel} data={data} height={PREVIEW_HEIGHT - (panel.chart ? 26 : 2)} />
          </div>
        )}
        <Size panel={panel} set={set} />
      </div>
    </Dialog>
  );
}

type Set = (change: Partial<DraftPanel>) => void;

interface SourceProps extends Pick<Props, "panel" | "filters" | "queries"> {
  set: Set;
  onRun: () => void;
  /** Shown above the SQL, if the panel has its own. */
  children: ReactNode;
}

function Source({ panel, filters, queries, set, onRun, children }: SourceProps) {
  const tables = useTables();
  const names = filters.flatMap(namesOf).map((name) => `$${name}`);
  return (
    <>
      <Labelled label={t("Query")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field max-w-80"
            value={panel.queryId ?? ""}
            onChange={({ target: { value } }) =>
              set(value === "" ? { queryId: null, sql: panel.sql ?? "" } : { queryId: value, sql: null })
            }
          >
            <option value="">{t("SQL of this panel")}</option>
            {queries.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {panel.queryId === null && (
        <div>
          {children}
          <Code
            language="sql"
            label="SQL"
            value={panel.sql ?? ""}
            onChange={(sql) => set({ sql })}
            tables={tables}
            minHeight={120}
            onSubmit={onRun}
          />
          {names.length > 0 && (
            <p className="mt-1 text-xs text-soft">{t("Filters: {names}", { names: names.join(", ") })}</p>
          )}
        </div>
      )}
    </>
  );
}

interface ChartProps {
  panel: DraftPanel;
  columns: readonly { name: string; dataType: string }[];
  rowCount: number;
  set: Set;
}

function ChartOf({ panel: { chart }, columns, rowCount, set }: ChartProps) {
  const spec = chart && specOf(chart);
  const put = (next: ChartSpec) =>
    set({ chart: next.kind === "table" ? null : (next as unknown as StoredChart) });
  if (chart && !spec)
    return (
      <div className="flex items-center gap-3">
        <p className="text-soft">{t("This chart is a Vega-Lite specification.")}</p>
        <Button
          onClick={() => set({ chart: suggestChart(columns, rowCount) as unknown as StoredChart | null })}
        >
          {t("Replace chart")}
        </Button>
      </div>
    );
  if (spec) return <ChartBuilder spec={spec} columns={columns} onChange={put} />;
  const suggested = suggestChart(columns, rowCount);
  return <ChartBuilder spec={{ ...suggested, kind: "table" }} columns={columns} onChange={put} />;
}

const BY_NAME = "";
const NO_FILTER = "-";

/** Which filter a click on a value of each column sets. */
function Clicks({
  panel: { clickFilters },
  columns,
  filters,
  set,
}: Pick<ChartProps, "panel" | "columns" | "set"> & Pick<Props, "filters">) {
  const chosen = (column: string) =>
    clickFilters[column] === undefined ? BY_NAME : (clickFilters[column] ?? NO_FILTER);
  const put = (column: string, value: string) => {
    const { [column]: _, ...others } = clickFilters;
    set({
      clickFilters: value === BY_NAME ? others : { ...others, [column]: value === NO_FILTER ? null : value },
    });
  };
  return (
    <details className="text-sm">
      <summary className="text-soft hover:text-ink">{t("Filter set by a click on a value")}</summary>
      <div className="mt-2 flex flex-wrap gap-3">
        {columns.map(({ name }) => (
          <Labelled key={name} label={name}>
            {(wiring) => (
              <select
                {...wiring}
                className="field w-auto max-w-52 min-w-28"
                value={chosen(name)}
                onChange={({ target: { value } }) => put(name, value)}
              >
                <option value={BY_NAME}>{t("The filter with this key, if any")}</option>
                <option value={NO_FILTER}>{t("None")}</option>
                {filters.map(({ key, label }) => (
                  <option key={key} value={key}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        ))}
      </div>
    </details>
  );
}

/** The size as numbers, for users who can't drag. */
function Size({ panel, set }: { panel: DraftPanel; set: Set }) {
  const fields = [
    { label: t("Width (columns)"), name: "width", most: COLUMNS },
    { label: t("Height (rows)"), name: "height", most: 100 },
  ] as const;
  return (
    <div className="flex flex-wrap gap-3">
      {fields.map(({ label, name, most }) => (
        <Labelled key={name} label={label}>
          {(wiring) => (
            <input
              {...wiring}
              type="number"
              min={1}
              max={most}
              className="field w-36"
              value={panel[name]}
              onChange={({ target: { value } }) =>
                set({ [name]: Math.min(Math.max(Math.round(Number(value)) || 1, 1), most) })
              }
            />
          )}
        </Labelled>
      ))}
    </div>
  );
}
