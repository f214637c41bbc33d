import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import type { Resource } from "./proposals.ts";

interface Props {
  connectionId: string;
  table: { schema: string; table: string };
  resource: Resource;
  onChange: (resource: Resource) => void;
}

const nameOf = (column: string | { name: string }) => (typeof column === "string" ? column : column.name);

/** Selects columns, key and cursor of a table. */
export function ColumnPick({ connectionId, table, resource, onChange }: Props) {
  const columns = useApi("GET /api/v1/connections/{connection_id}/schema/columns", {
    path: { connection_id: connectionId },
    query: { schema: table.schema, table: table.table },
  });
  const all = columns.data?.columns ?? [];
  const names = (resource.columns ?? []).filter((column) => typeof column === "string");
  const isTaken = (name: string) => names.length === 0 || names.includes(name);
  const take = (name: string, isOn: boolean) => {
    const typed = (resource.columns ?? []).filter((column) => typeof column !== "string");
    const next = all.map((each) => each.name).filter((each) => (each === name ? isOn : isTaken(each)));
    const { columns: _, ...rest } = resource;
    const kept =
      next.length === all.length ? typed : [...next, ...typed.filter((each) => next.includes(nameOf(each)))];
    if (next.length > 0) onChange({ ...rest, ...(kept.length > 0 ? { columns: kept } : {}) });
  };
  const choose = (change: "primaryKey" | "incremental", name: string) => {
    const { [change]: _, ...rest } = resource;
    const value = change === "primaryKey" ? [name] : { ...resource.incremental, cursorField: name };
    onChange(name === "" ? rest : { ...rest, [change]: value });
  };
  return (
    <details className="mb-1 ml-6 text-xs">
      <summary className="min-h-6 cursor-pointer text-soft">
        {[
          resource.primaryKey?.length
            ? t("Key {names}", { names: resource.primaryKey.join(", ") })
            : t("No key"),
          resource.incremental
            ? t("cursor {cursorField}", { cursorField: resource.incremental.cursorField })
            : t("no cursor"),
          resource.writeDisposition ?? "append",
        ].join(", ")}
      </summary>
      <div className="grid grid-cols-2 gap-2 py-1">
        <Choice
          label={t("Key of {table}", { table: table.table })}
          value={resource.primaryKey?.[0] ?? ""}
          names={all.map(({ name }) => name)}
          onChange={(name) => choose("primaryKey", name)}
        />
        <Choice
          label={t("Cursor of {table}", { table: table.table })}
          value={resource.incremental?.cursorField ?? ""}
          names={all.map(({ name }) => name)}
          onChange={(name) => choose("incremental", name)}
        />
      </div>
      <ul
        aria-label={t("Columns of {table}", { table: table.table })}
        className="grid grid-cols-2 gap-x-3 py-1"
      >
        {all.map(({ name, dataType }) => (
          <li key={name}>
            <label className="flex min-h-6 min-w-0 items-center gap-1.5" title={dataType}>
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={isTaken(name)}
                onChange={({ target }) => take(name, target.checked)}
              />
              <span className="truncate font-mono" dir="auto">
                {name}
              </span>
            </label>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  names: readonly string[];
  onChange: (name: string) => void;
}

function Choice({ label, value, names, onChange }: ChoiceProps) {
  return (
    <label className="min-w-0">
      <span className="mb-0.5 block truncate text-soft">{label}</span>
      <select className="field" value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{t("None")}</option>
        {value !== "" && !names.includes(value) && <option>{value}</option>}
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
