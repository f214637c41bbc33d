import { useContext, useMemo } from "react";
import type { Fault } from "../../api.ts";
import type { ActionKindInfo } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Later, part } from "../base/later.tsx";
import { columnsOf, MOST_DATASETS, type Tables } from "../base/table-name.ts";
import { InputPaths, inputPaths, TemplatePaths } from "../editor/template-paths.ts";
import { FilesHere } from "./files-here.ts";
import { Faults, SchemaForm, type Values } from "./form.tsx";
import { FormOrJson } from "./or-json.tsx";
import { propertiesOf } from "./schema.ts";

/** Fields that every kind has in addition to its own. */
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

/** The lake's tables. Of many, and while they can't be read, editors search the others as the user types. */
export function useTables(enabled = true): Tables {
  const datasets = useApi("GET /api/v1/datasets", { query: { limit: MOST_DATASETS } }, { enabled });
  return useMemo(() => {
    const { datasets: found = [], hasNext = enabled } = datasets.data ?? {};
    return { columns: columnsOf(found), isWhole: !hasNext };
  }, [datasets.data, enabled]);
}

interface Props {
  kind: ActionKindInfo;
  value: Values;
  onChange: (value: Values) => void;
  /** Reports why the JSON is invalid and can't be saved. Null if it is valid. */
  onProblem: (problem: string | null) => void;
  faults: readonly Fault[];
  /** Location in the request. */
  at?: readonly string[];
  /** The connection of an extract and of its folder pickers. */
  connectionId?: string;
}

const extractTables = part(() => import("../extract/tables.tsx"));

const DEFINITION_PATH = ["body", "definition"];

/** Returns whether a kind's definition can be edited as a form. */
const canDraw = ({ definitionSchema }: ActionKindInfo) => propertiesOf(definitionSchema).length > 0;

/** Edits a definition as the form of its kind, or as JSON. */
export function DefinitionEditor(props: Props) {
  const { kind, value, onChange, onProblem, faults, at = DEFINITION_PATH, connectionId = "" } = props;
  const tables = useTables(JSON.stringify(kind.definitionSchema).includes('"sql":'));
  const paths = useContext(TemplatePaths);
  const ownPaths = useMemo(() => inputPaths(value.input, paths), [value.input, paths]);
  return (
    <FormOrJson
      label={t("Definition")}
      wrong={t("The definition must be a JSON object.")}
      value={value}
      onChange={onChange}
      onProblem={onProblem}
      canDraw={canDraw(kind)}
      tables={tables}
      faults={
        <Faults of={faults.filter(({ loc }) => at.every((part, index) => loc[index] === part))} drawn={[]} />
      }
      form={() => (
        <InputPaths value={ownPaths}>
          {kind.kind === "dlt_extract" && connectionId !== "" && !connectionId.includes("{{") && (
            <Later of={extractTables} waiting={null} props={{ connectionId, value, onChange }} />
          )}
          <FilesHere value={connectionId}>
            <SchemaForm
              key={kind.kind}
              schema={kind.definitionSchema}
              value={value}
              onChange={onChange}
              at={at}
              faults={faults}
              minor={MINOR}
              tables={tables}
            />
          </FilesHere>
        </InputPaths>
      )}
    />
  );
}
