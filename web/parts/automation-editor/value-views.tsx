import { ChevronRight } from "lucide-react";
import { type DragEvent, useMemo, useState } from "react";
import { t } from "../../texts/text.ts";
import { CopyButton } from "../base/copy.tsx";
import { plural } from "../base/plural.ts";

const AT_ONCE = 100;
/** Maximum size of a value that is expanded at first. */
const OPEN_AT_FIRST = 12;
const SHOWN_CHARACTERS = 120;
const MOST_COLUMNS = 12;
const MOST_ROWS = 50;
const PLAIN = /^[\p{L}\p{N}_$@-]+$/u;

const joined = (before: string, key: string, isIndex: boolean): string => {
  if (isIndex) return `${before}[${key}]`;
  if (before === "") return key;
  return PLAIN.test(key) ? `${before}.${key}` : `${before}[${JSON.stringify(key)}]`;
};

export interface ValueProps {
  value: unknown;
  /** As in expressions, for example `steps.load.result`. */
  path: string;
  /** Inserts an expression into the last focused field. Null if values are only shown. */
  onInsert: ((path: string) => void) | null;
}

type Way = "tree" | "table" | "json";

/** Where the rows of a result usually are. Checked before other lists. */
const ROWS_AT = ["items", "rows", "output", "body", "data"];
const DEEPEST = 3;

interface Rows {
  rows: readonly Record<string, unknown>[];
  path: string;
}

/** Returns the least nested list of objects in a value. */
function rowsIn(value: unknown, path: string): Rows | null {
  let level: readonly (readonly [unknown, string])[] = [[value, path]];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth++) {
    for (const [each, at] of level) {
      if (isRows(each)) return { rows: each, path: at };
      if (Array.isArray(each) && each.length === 0 && ROWS_AT.some((key) => at.endsWith(key))) return null; // there are no rows
    }
    level = level.flatMap(([each, at]) =>
      typeof each === "object" && each !== null && !Array.isArray(each)
        ? Object.entries(each)
            .sort(([a], [b]) => rankOf(a) - rankOf(b))
            .map(([key, inner]) => [inner, joined(at, key, false)] as const)
        : [],
    );
  }
  return null;
}

const rankOf = (key: string) => (ROWS_AT.includes(key) ? ROWS_AT.indexOf(key) : ROWS_AT.length);

const isRows = (value: unknown): value is readonly Record<string, unknown>[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((each) => typeof each === "object" && each !== null && !Array.isArray(each));

/** A value as a tree, a table or JSON. Each part can be clicked, or dragged into a field as an expression. */
export default function ValueViews(props: ValueProps) {
  const [chosen, setChosen] = useState<Way>("tree");
  const rows = useMemo(() => rowsIn(props.value, props.path), [props.value, props.path]);
  if (props.value === undefined || props.value === null)
    return <p className="text-sm text-faint">{t("Empty")}</p>;
  const ways: readonly (readonly [Way, string])[] = [
    ["tree", t("Tree")],
    ...(rows ? ([["table", t("Table")]] as const) : []),
    ["json", "JSON"],
  ];
  const way = ways.some(([id]) => id === chosen) ? chosen : "tree";
  return (
    <div>
      <div className="mb-1.5 flex items-center gap-1">
        {ways.map(([id, name]) => (
          <button
            key={id}
            type="button"
            aria-pressed={way === id}
            onClick={() => setChosen(id)}
            className={`h-6 rounded px-2 text-xs ${way === id ? "bg-accent-soft text-accent-strong" : "text-soft hover:text-ink"}`}
          >
            {name}
          </button>
        ))}
        <span className="grow" />
        <CopyButton
          text={JSON.stringify(props.value, null, 2)}
          label={t("Copy {path} as JSON", { path: props.path })}
        />
      </div>
      {way === "tree" && (
        <div className="overflow-x-auto font-mono text-xs leading-6">
          <Children {...props} depth={0} />
        </div>
      )}
      {way === "table" && rows && <Table {...rows} onInsert={props.onInsert} />}
      {way === "json" && (
        <pre className="max-h-96 overflow-auto rounded-md bg-sunken p-2 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
          {JSON.stringify(props.value, null, 2)}
        </pre>
      )}
    </div>
  );
}

const short = (value: unknown): string => {
  if (typeof value === "string")
    return value.length > SHOWN_CHARACTERS ? `"${value.slice(0, SHOWN_CHARACTERS)}…"` : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === "object" && value !== null) return `{${Object.keys(value).length}}`;
  return String(value);
};

const ink = (value: unknown): string =>
  typeof value === "string"
    ? "text-code-text"
    : typeof value === "object"
      ? "text-faint"
      : "text-code-number";

function Children({ value, path, onInsert, depth }: ValueProps & { depth: number }) {
  const [count, setCount] = useState(AT_ONCE);
  if (typeof value !== "object" || value === null)
    return <Entry name={path} value={value} path={path} onInsert={onInsert} depth={depth} />;
  const entries = Object.entries(value);
  if (entries.length === 0) return <span className="text-faint">{Array.isArray(value) ? "[ ]" : "{ }"}</span>;
  return (
    <ul>
      {entries.slice(0, count).map(([name, inner]) => (
        <li key={name}>
          <Entry
            name={name}
            value={inner}
            path={joined(path, name, Array.isArray(value))}
            onInsert={onInsert}
            depth={depth}
          />
        </li>
      ))}
      {entries.length > count && (
        <li>
          <button
            type="button"
            className="pl-5 text-accent hover:underline"
            onClick={() => setCount(count + AT_ONCE)}
          >
            {plural(entries.length - count, { one: "# more", other: "# more" })}
          </button>
        </li>
      )}
    </ul>
  );
}

const onDrag = (event: DragEvent, path: string) => {
  event.dataTransfer.setData("text/plain", `{{${path}}}`);
  event.dataTransfer.effectAllowed = "copy";
};

function Entry({ name, value, path, onInsert, depth }: ValueProps & { name: string; depth: number }) {
  const isBranch = typeof value === "object" && value !== null;
  const [isOpen, setOpen] = useState(depth === 0 && isBranch && Object.keys(value).length <= OPEN_AT_FIRST);
  return (
    <div>
      <div className="flex items-center gap-0.5">
        {isBranch ? (
          <button
            type="button"
            aria-expanded={isOpen}
            aria-label={isOpen ? t("Collapse {name}", { name: path }) : t("Expand {name}", { name: path })}
            className="grid size-6 shrink-0 place-items-center rounded hover:bg-sunken"
            onClick={() => setOpen(!isOpen)}
          >
            <ChevronRight size={13} aria-hidden className={`text-faint ${isOpen ? "rotate-90" : ""}`} />
          </button>
        ) : (
          <span className="w-6 shrink-0" />
        )}
        {onInsert ? (
          <button
            type="button"
            draggable
            title={t("Insert {expression}", { expression: `{{${path}}}` })}
            onDragStart={(event) => onDrag(event, path)}
            onMouseDown={(event) => event.preventDefault()} // the field that is written in keeps the focus
            onClick={() => onInsert(path)}
            className="flex min-w-0 items-center gap-1.5 rounded px-1 hover:bg-accent-soft"
          >
            <span className="shrink-0 text-code-key">{name}</span>
            <span className={`truncate ${ink(value)}`} dir="auto">
              {short(value)}
            </span>
          </button>
        ) : (
          <span className="flex min-w-0 items-center gap-1.5 px-1">
            <span className="shrink-0 text-code-key">{name}</span>
            <span className={`truncate ${ink(value)}`} dir="auto">
              {short(value)}
            </span>
          </span>
        )}
      </div>
      {isBranch && isOpen && (
        <div className="ml-3 border-l border-line pl-1">
          <Children value={value} path={path} onInsert={onInsert} depth={depth + 1} />
        </div>
      )}
    </div>
  );
}

/** A list of objects as a table. A column's header inserts its value in the first row. */
function Table({ path, onInsert, rows }: Rows & Pick<ValueProps, "onInsert">) {
  const columns = [...new Set(rows.slice(0, MOST_ROWS).flatMap((row) => Object.keys(row)))].slice(
    0,
    MOST_COLUMNS,
  );
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
      tabIndex={0}
      aria-label={t("Rows of {path}", { path })}
      className="max-h-96 overflow-auto rounded-md border border-line"
    >
      <table className="w-full text-xs">
        <thead className="sticky top-0 bg-sunken">
          <tr>
            {columns.map((column) => (
              <th key={column} className="px-2 py-1 text-left font-medium whitespace-nowrap">
                {onInsert ? (
                  <button
                    type="button"
                    draggable
                    title={t("Insert {expression}", {
                      expression: `{{${joined(`${path}[0]`, column, false)}}}`,
                    })}
                    onDragStart={(event) => onDrag(event, joined(`${path}[0]`, column, false))}
                    onMouseDown={(event) => event.preventDefault()}
                    onClick={() => onInsert(joined(`${path}[0]`, column, false))}
                    className="min-h-6 rounded text-code-key hover:underline"
                  >
                    {column}
                  </button>
                ) : (
                  column
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no IDs
            <tr key={at} className="border-t border-line">
              {columns.map((column) => (
                <td key={column} className="max-w-48 truncate px-2 py-1 font-mono" dir="auto">
                  {row[column] === undefined ? "" : short(row[column])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && (
        <p className="px-2 py-1 text-xs text-soft">
          {t("{shown} of {total} rows", { shown: MOST_ROWS, total: rows.length })}
        </p>
      )}
    </section>
  );
}
