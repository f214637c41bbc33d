import { and, eq } from "drizzle-orm";
import { invalid } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { Board, BoardPanel } from "../../executors/flashboard/board.ts";
import { openContent } from "../artifacts/content.ts";
import { artifacts } from "../artifacts/table.ts";
import { refuseOthers } from "../runs/wire-private.ts";
import type { PanelInput } from "./wire.ts";

const AT = ["body", "fromArtifactId"];

/**
 * Returns the title and panels of a flashboard's artifact. Throws `InvalidInput` for another artifact, `forbidden`,
 * `gone`.
 */
export async function boardOf(ctx: Context, id: string): Promise<{ title: string; panels: PanelInput[] }> {
  const [row] = await ctx.db
    .select()
    .from(artifacts)
    .where(and(eq(artifacts.organizationId, ctx.organizationId), eq(artifacts.id, id)));
  if (!row) throw invalid(AT, "There is no such artifact in this organization", "not_found");
  refuseOthers(ctx, row);
  const board = row.kind === "json" ? readBoard(await (await openContent(ctx, row)).text()) : null;
  if (!board)
    throw invalid(AT, "This artifact is not a flashboard. Give the JSON artifact of a create_flashboard run");
  return { title: board.title, panels: board.panels.map(toInput) };
}

function readBoard(text: string): Board | null {
  const board = JSON.parse(text) as Json;
  return isObject(board) && board.type === "flashboard" ? (board as unknown as Board) : null;
}

const toInput = ({ title, sql, chart, width, parameters = {} }: BoardPanel, at: number): PanelInput => ({
  key: `panel_${at + 1}`,
  title,
  sql,
  chart: chart as JsonObject | null,
  width,
  parameters,
});
