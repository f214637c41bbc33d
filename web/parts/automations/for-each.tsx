import type { TableRows } from "../../../src/resources/automations/config.ts";
import { t } from "../../texts/text.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { putInStep, type StepValue } from "../canvas/steps-config.ts";
import { TemplateText } from "../editor/template-text.tsx";
import { NumberField } from "../form/field-scalar.tsx";

interface Props {
  step: StepValue;
  /** Returns the error of a field. */
  messageFor: (name: string) => string | undefined;
  onChange: (step: StepValue) => void;
}

/** The items that a step runs for: of a list, or rows of a table. */
export function ForEach({ step, messageFor, onChange }: Props) {
  const { forEach } = step;
  const put = (change: Partial<StepValue>) => onChange(putInStep(step, change));
  const fault = messageFor("forEach");
  return (
    <>
      <Labelled label={t("Run|verb")} about={t("Once, or for each item of a list or each row of a table.")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={forEach === undefined ? "once" : typeof forEach === "string" ? "list" : "table"}
            onChange={({ target: { value } }) => {
              const { forEach: _f, maxParallel: _m, ...once } = step;
              if (value === "once") onChange(once as StepValue);
              else if (value === "list") onChange({ ...step, forEach: "{{input}}" });
              else onChange({ ...step, forEach: { table: "" } });
            }}
          >
            <option value="once">{t("Once")}</option>
            <option value="list">{t("For each item of a list")}</option>
            <option value="table">{t("For each row of a table")}</option>
          </select>
        )}
      </Labelled>
      {typeof forEach === "string" && (
        <Labelled
          label={t("For each")}
          about={t(
            "A template expression that resolves to a list. The step runs once per item, available as {item}.",
            {
              item: "{{item}}",
            },
          )}
          fault={fault}
        >
          {(wiring) => (
            <TemplateText
              {...wiring}
              className="font-mono text-xs"
              placeholder="{{payload.orders}}"
              value={forEach}
              onChange={(text) => onChange({ ...step, forEach: text })}
            />
          )}
        </Labelled>
      )}
      {typeof forEach === "object" && (
        <Table rows={forEach} fault={fault} onChange={(rows) => onChange({ ...step, forEach: rows })} />
      )}
      {forEach !== undefined && (
        <Labelled label={t("Concurrency")} fault={messageFor("maxParallel")}>
          {(wiring) => (
            <NumberField
              wiring={wiring}
              value={step.maxParallel}
              placeholder="10"
              onChange={(maxParallel) => put({ maxParallel: maxParallel as number })}
            />
          )}
        </Labelled>
      )}
    </>
  );
}

function Table({
  rows,
  fault,
  onChange,
}: {
  rows: TableRows;
  fault: string | undefined;
  onChange: (rows: TableRows) => void;
}) {
  const put = (change: Record<string, unknown>) => {
    const kept = Object.entries({ ...rows, ...change }).filter(
      ([name, value]) => name === "table" || (value !== "" && value !== undefined),
    );
    onChange(Object.fromEntries(kept) as unknown as TableRows);
  };
  return (
    <>
      <TextField
        label={t("Table")}
        value={rows.table}
        placeholder="marts.orders"
        onChange={(table) => put({ table })}
        fault={fault}
      />
      <Labelled label={t("Filter")} about={t("SQL condition. Leave empty to include all rows.")}>
        {(wiring) => (
          <TemplateText
            {...wiring}
            className="font-mono text-xs"
            placeholder="total > {{input.least}}"
            value={rows.where ?? ""}
            onChange={(where) => put({ where })}
          />
        )}
      </Labelled>
      <TextField
        label={t("Order by")}
        value={rows.orderBy ?? ""}
        placeholder="created_at"
        onChange={(orderBy) => put({ orderBy })}
      />
      <Labelled label={t("Batch size")}>
        {(wiring) => (
          <NumberField
            wiring={wiring}
            value={rows.batch}
            placeholder={t("1 (above 1, {item} is a list)", { item: "{{item}}" })}
            onChange={(batch) => put({ batch })}
          />
        )}
      </Labelled>
    </>
  );
}
