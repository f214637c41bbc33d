import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { missingFields, specFaults } from "../../charts/spec.ts";
import type { RunContext } from "../contract.ts";
import { answerOf } from "../model/answer.ts";
import { openSchema, schemaText } from "../schema/live.ts";

const SYSTEM =
  "You lay out dashboards. Answer with panels; each has a title, one read-only SELECT in DuckDB's dialect over the tables that are listed and no others, and where a chart says more than a table, a Vega-Lite specification without data, whose fields are columns of the SELECT. Put no number into a title: every number has to come from the SQL. Aggregate so that a panel has at most a few hundred rows.";

const PANELS: JsonObject = {
  type: "object",
  required: ["panels"],
  additionalProperties: false,
  properties: {
    panels: {
      type: "array",
      minItems: 1,
      maxItems: 12,
      items: {
        type: "object",
        required: ["title", "sql"],
        additionalProperties: false,
        properties: {
          title: { type: "string", minLength: 1, maxLength: 255 },
          sql: { type: "string", minLength: 1, maxLength: 50_000 },
          chart: { type: "object" },
          width: { enum: ["full", "half", "third"] },
        },
      },
    },
  },
};

/** A panel as a model lays it out. */
export interface PanelRequest {
  title: string;
  sql: string;
  chart?: JsonObject;
  width?: "full" | "half" | "third";
  parameters?: undefined;
  maxRows?: undefined;
}

/** Returns panels that a model designs for `prompt`, each checked against the tables. Throws the same as `answerOf`. */
export async function panelsFor(
  ctx: RunContext,
  prompt: string,
  datasets: string[] | undefined,
): Promise<PanelRequest[]> {
  const schema = await openSchema(ctx, datasets ? { datasets } : {});
  const { value } = await answerOf<JsonObject & { panels: PanelRequest[] & JsonObject[] }>(
    ctx,
    { system: `${SYSTEM}\n\n${schemaText(schema)}`, prompt, schema: PANELS },
    async ({ panels }) => {
      for (const panel of panels) {
        const fault = await faultOf(panel);
        if (fault !== null) return `The panel "${panel.title}": ${fault}`;
      }
      return null;
    },
  );
  return value.panels;

  async function faultOf({ sql, chart, title }: PanelRequest): Promise<string | null> {
    if (/\d/.test(title)) return "its title has a number, which no SQL vouches for.";
    const [fault] = chart ? specFaults(chart) : [];
    if (fault) return `chart.${fault.path.join(".")}: ${fault.message}`;
    try {
      await schema.check(sql);
      if (!chart) return null;
      const columns = (await schema.select(`DESCRIBE ${sql}`, 1000)).rows.map((row) =>
        String(row.column_name),
      );
      const missing = missingFields(chart, columns);
      return missing.length > 0
        ? `its chart shows ${missing.join(", ")}, which its SQL does not give.`
        : null;
    } catch (error) {
      if (error instanceof AppError && error.code === "sql_error") return error.message;
      throw error;
    }
  }
}
