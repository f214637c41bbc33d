import { useMemo, useState } from "react";
import type { Fault } from "../api.ts";
import type { ActionKindInfo } from "../calls.ts";
import { useApi } from "../data.ts";
import { Code } from "./code.tsx";
import { Faults, SchemaForm, type Values } from "./form.tsx";

/** What every kind takes beside its own fields. */
const MINOR = [
  "retry",
  "timeoutSeconds",
  "concurrencyKey",
  "batchSize",
  "maxRows",
  "maxBytes",
  "maxTableNesting",
  "dryRun",
  "pagination",
  "expectStatus",
  "followRedirects",
];

/** Columns of the lake's tables as SQL names them: `raw.shop__orders`, or `raw.orders` where the table bears the dataset's name. */
export function useTables(): Readonly<Record<string, readonly string[]>> {
  const datasets = useApi("GET /api/v1/datasets", { query: { limit: 100 } });
  return useMemo(
    () =>
      Object.fromEntries(
        (datasets.data?.datasets ?? []).flatMap(({ layer, dataset, tables }) =>
          tables.map(({ name, columns }) => [
            `${layer}.${name === dataset ? dataset : `${dataset}__${name}`}`,
            columns.map((column) => column.name),
          ]),
        ),
      ),
    [datasets.data],
  );
}

interface Props {
  kind: ActionKindInfo;
  value: Values;
  onChange: (value: Values) => void;
  /** Null where the JSON can't be read, and so can't be saved. */
  onProblem: (problem: string | null) => void;
  faults: readonly Fault[];
}

/** A definition by the form of its kind, or as JSON; both show the same value. */
export function DefinitionEditor({ kind, value, onChange, onProblem, faults }: Props) {
  const [way, setWay] = useState<"form" | "json">("form");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const tables = useTables();
  const turn = (to: "form" | "json") => {
    if (to === "json") setText(JSON.stringify(value, null, 2));
    if (problem === null) setWay(to);
  };
  const read = (next: string) => {
    setText(next);
    let told: string | null = null;
    try {
      const parsed: unknown = next.trim() === "" ? {} : JSON.parse(next);
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
        told = "A definition is an object.";
      else onChange(parsed as Values);
    } catch (error) {
      told = error instanceof Error ? error.message : "This is not JSON.";
    }
    setProblem(told);
    onProblem(told);
  };
  return (
    <div>
      <fieldset className="mb-4 inline-flex rounded-md border border-strong-line p-0.5">
        <legend className="sr-only">Edit as</legend>
        {(["form", "json"] as const).map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={way === each}
            onClick={() => turn(each)}
            className={`rounded px-3 py-1 text-xs font-medium ${way === each ? "bg-accent-soft text-accent-strong" : "text-soft hover:text-ink"}`}
          >
            {each === "form" ? "Form" : "JSON"}
          </button>
        ))}
      </fieldset>
      {way === "form" ? (
        <SchemaForm
          key={kind.kind}
          schema={kind.definitionSchema}
          value={value}
          onChange={onChange}
          at={["body", "definition"]}
          faults={faults}
          minor={MINOR}
          tables={tables}
        />
      ) : (
        <>
          <Faults of={faults.filter(({ loc }) => loc[1] === "definition")} drawn={[]} />
          <Code
            language="json"
            label="Definition"
            value={text}
            onChange={read}
            minHeight={260}
            isInvalid={problem !== null}
          />
          {problem && <p className="mt-1 text-xs text-bad">{problem}</p>}
        </>
      )}
    </div>
  );
}
