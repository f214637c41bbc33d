import { type ReactNode, useState } from "react";
import type { Automation } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { Labelled } from "../base/labelled.tsx";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { Code } from "../editor/code.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";

type Way = "none" | "form" | "last" | "json";

/** What a run begins with; `fromRunId` takes over all that another run was given. */
export interface RunInput {
  input?: unknown;
  fromRunId?: string;
}

interface Kept {
  way: Way | null;
  text: string;
  values: Values;
}

const keyOf = (id: string) => `weir.run-input.${id}`;

function read(id: string): Kept {
  const text = sessionStorage.getItem(keyOf(id));
  return text === null ? { way: null, text: "", values: {} } : (JSON.parse(text) as Kept);
}

interface Options {
  automation: Automation;
  /** In place of the automation's own. */
  config: Values;
  /** Whether another run can be named in place of an input. */
  takesRuns: boolean;
}

/** Asks what a run begins with: by the form of its schema, what came last, or JSON; what was given stays for the next one. */
export function useRunInput({ automation, config, takesRuns }: Options) {
  const { id, triggerType } = automation;
  const [kept, setKept] = useState(() => read(id));
  const [problem, setProblem] = useState<string | null>(null);
  const isWebhook = triggerType === "webhook";
  const latest = useApi("GET /api/v1/automations/{automation_id}/runs", {
    path: { automation_id: id },
    query: { limit: 1 },
  });
  const deliveries = useApi(
    "GET /api/v1/webhook-deliveries",
    { query: { automation_id: id, limit: 1 } },
    { enabled: isWebhook },
  );
  const deliveryId = deliveries.data?.items[0]?.id ?? "";
  const delivery = useApi(
    "GET /api/v1/webhook-deliveries/{delivery_id}",
    { path: { delivery_id: deliveryId } },
    { enabled: deliveryId !== "" },
  );
  const run = latest.data?.runs[0] ?? null;
  const last = isWebhook
    ? delivery.data?.payload !== undefined && delivery.data.payload !== null
      ? {
          value: delivery.data.payload as unknown,
          at: delivery.data.receivedAt,
          runId: delivery.data.automationRunId,
        }
      : null
    : run && run.input !== null
      ? { value: run.input as unknown, at: run.createdAt, runId: run.id }
      : null;
  const { inputSchema, form } = config as { inputSchema?: Values; form?: { schema?: Values } };
  const schema = inputSchema ?? form?.schema ?? null;
  const canDraw = schema !== null && propertiesOf(schema).length > 0;
  const ways: readonly (readonly [Way, string])[] = [
    ...(canDraw ? ([["form", "Fill in the form"]] as const) : []),
    ...(last ? ([["last", isWebhook ? "Last delivery" : "Last input"]] as const) : []),
    ["json", "JSON"],
    ["none", "Nothing"],
  ];
  const usual: Way = canDraw ? "form" : isWebhook ? (last ? "last" : "json") : "none";
  const way = ways.some(([each]) => each === kept.way) ? (kept.way as Way) : usual;
  const put = (change: Partial<Kept>) => {
    const next = { ...kept, ...change };
    setKept(next);
    setProblem(null);
    sessionStorage.setItem(keyOf(id), JSON.stringify(next));
  };
  const values =
    canDraw && Object.keys(kept.values).length === 0 ? (startValue(schema) as Values) : kept.values;

  /** Null where what was written can't be read: the field says so. */
  const take = (): RunInput | null => {
    if (way === "none") return {};
    if (way === "form") return { input: values };
    if (way === "last" && last)
      return takesRuns && typeof last.runId === "string" ? { fromRunId: last.runId } : { input: last.value };
    try {
      return kept.text.trim() === "" ? {} : { input: JSON.parse(kept.text) };
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "This isn't JSON.");
      return null;
    }
  };
  const fields: ReactNode = (
    <div className="space-y-3">
      <Labelled label={isWebhook ? "Payload" : "Input"}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={way}
            onChange={({ target: { value } }) => put({ way: value as Way })}
          >
            {ways.map(([each, title]) => (
              <option key={each} value={each}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {way === "form" && schema && (
        <SchemaForm
          schema={schema}
          value={values}
          onChange={(next) => put({ values: next })}
          at={["body", "input"]}
        />
      )}
      {way === "last" && last && (
        <div className="rounded-md border border-line p-2">
          <p className="mb-1 text-xs text-soft">
            <When at={last.at} />
          </p>
          <Tree value={last.value} copyLabel="Copy input as JSON" />
        </div>
      )}
      {way === "json" && (
        <>
          <Code
            language="json"
            label={isWebhook ? "Payload as JSON" : "Input as JSON"}
            value={kept.text}
            onChange={(text) => put({ text })}
            minHeight={110}
            isInvalid={problem !== null}
          />
          {problem && (
            <p role="alert" className="text-xs text-bad">
              {problem}
            </p>
          )}
        </>
      )}
    </div>
  );
  return { take, fields };
}
