import { useState } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { LongField } from "../base/fields.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Code } from "../editor/code.tsx";
import { useTables } from "../form/definition.tsx";
import { NumberField } from "../form/field-scalar.tsx";
import { NUMBER } from "../form/typed.ts";
import type { DraftFilter } from "./draft.ts";
import { FilterInput } from "./filter-input.tsx";
import { namesOf } from "./values.ts";

const TYPES: Readonly<Record<DraftFilter["type"], string>> = {
  text: t("Text"),
  number: t("Number"),
  boolean: t("Yes or no"),
  date: t("Date"),
  date_range: t("Date range"),
  choice: t("Choice"),
};
const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

interface Props {
  filter: DraftFilter;
  isNew: boolean;
  /** Keys of the other filters. */
  taken: readonly string[];
  onSave: (filter: DraftFilter) => void;
  onRemove: () => void;
  onClose: () => void;
}

/** Edits a filter: its key, label, type, values and default. */
export function FilterDialog({ filter: initial, isNew, taken, onSave, onRemove, onClose }: Props) {
  const [filter, setFilter] = useState(initial);
  const set = (change: Partial<DraftFilter>) => setFilter({ ...filter, ...change });
  const { key, label, type } = filter;
  const fault = !KEY.test(key)
    ? t("Use letters, digits and _. Begin with a letter or _.")
    : taken.includes(key)
      ? t("Another filter has this key.")
      : undefined;
  const defaultFault =
    type === "number" && typeof filter.default === "string" && !NUMBER.test(filter.default)
      ? t("Enter a number.")
      : undefined;
  const names = namesOf(filter).map((name) => `$${name}`);
  return (
    <Dialog
      title={isNew ? t("Add filter") : t("Edit filter")}
      onClose={onClose}
      foot={
        <>
          {!isNew && (
            <Button kind="bad" onClick={onRemove}>
              {t("Remove")}
            </Button>
          )}
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            kind="main"
            disabled={(fault ?? defaultFault) !== undefined}
            onClick={() => onSave({ ...filter, label: label.trim() || key })}
          >
            {isNew ? t("Add filter") : t("Apply")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          label={t("Key")}
          isRequired
          maxLength={63}
          value={key}
          fault={key === "" ? undefined : fault}
          about={key === "" ? t("Its name in SQL") : t("In SQL: {names}", { names: names.join(", ") })}
          onChange={(next) => set({ key: next })}
        />
        <TextField
          label={t("Label")}
          maxLength={255}
          value={label}
          onChange={(next) => set({ label: next })}
        />
        <Labelled label={t("Type")}>
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={type}
              onChange={(event) => {
                const next = event.target.value as DraftFilter["type"];
                set({ type: next, default: null, options: next === "choice" ? [] : null, sql: null });
              }}
            >
              {Object.entries(TYPES).map(([id, name]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        {type === "choice" && <Choices filter={filter} set={set} />}
        {type === "number" ? (
          <Labelled label={t("Default")} fault={defaultFault}>
            {(wiring) => (
              <NumberField
                wiring={wiring}
                value={filter.default}
                placeholder={t("None")}
                onChange={(next) => set({ default: (next ?? null) as DraftFilter["default"] })}
              />
            )}
          </Labelled>
        ) : (
          <Default filter={filter} set={set} />
        )}
      </div>
    </Dialog>
  );
}

type Set = (change: Partial<DraftFilter>) => void;

/** Values of a choice: a list, or the first column of a query. */
function Choices({ filter: { options, sql }, set }: { filter: DraftFilter; set: Set }) {
  const tables = useTables();
  return (
    <>
      <Labelled label={t("Values")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={sql === null ? "list" : "sql"}
            onChange={({ target: { value } }) =>
              set(value === "sql" ? { sql: "", options: null } : { sql: null, options: [] })
            }
          >
            <option value="list">{t("List")}</option>
            <option value="sql">{t("First column of a query")}</option>
          </select>
        )}
      </Labelled>
      {sql === null ? (
        <LongField
          label={t("List")}
          about={t("One value per line")}
          value={(options ?? []).join("\n")}
          onChange={(text) => set({ options: text.split("\n") })}
        />
      ) : (
        <Code
          language="sql"
          label={t("SQL of the values")}
          value={sql}
          onChange={(text) => set({ sql: text })}
          tables={tables}
          minHeight={80}
        />
      )}
    </>
  );
}

type Ends = { from?: string | null; to?: string | null };

/** Default of a filter, with the same field as on the dashboard. */
function Default({ filter, set }: { filter: DraftFilter; set: Set }) {
  const { key, type, default: value, options } = filter;
  const range = (type === "date_range" ? (value ?? {}) : {}) as Ends;
  const textOf = (name: string) =>
    String((type !== "date_range" ? value : name.endsWith("_from") ? range.from : range.to) ?? "");
  const put = (name: string, text: string) => {
    const next = text === "" ? null : text;
    if (type !== "date_range")
      return set({ default: type === "boolean" && next !== null ? next === "true" : next });
    const end = name.endsWith("_from") ? "from" : "to";
    const ends = { from: range.from ?? null, to: range.to ?? null, [end]: next };
    set({ default: ends.from === null && ends.to === null ? null : ends });
  };
  return (
    <div className="flex gap-3">
      <FilterInput
        filter={{ key, type, label: t("Default") }}
        textOf={textOf}
        onChange={put}
        choices={options}
        none={t("None")}
        isPrompt
      />
    </div>
  );
}
