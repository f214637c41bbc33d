import { tokensOf } from "../sql/tokens.ts";
import type { LakeRead, LakeTable } from "./contract.ts";
import { sqlName } from "./views.ts";

/** The datasets whose tables a statement names by layer and name, in order. */
export function readsOf(
  sql: string,
  tables: readonly Pick<LakeTable, "layer" | "dataset" | "table">[],
): LakeRead[] {
  const tokens = tokensOf(sql);
  const named = new Set<string>();
  for (const [at, { text }] of tokens.entries()) {
    const [layer, name] = [tokens[at - 1], tokens[at + 1]];
    if (text === "." && layer && name) named.add(`${plain(layer.text)}.${plain(name.text)}`);
  }
  const reads = new Map<string, LakeRead>();
  for (const { layer, dataset, table } of tables) {
    const names = [sqlName({ dataset, table }), `${dataset}__${table}`];
    if (!names.some((name) => named.has(`${layer}.${name}`))) continue;
    const key = `${layer}.${dataset}`;
    reads.set(key, { layer, dataset, tables: [...(reads.get(key)?.tables ?? []), table] });
  }
  return [...reads.values()];
}

const plain = (name: string): string => name.replace(/^"(.*)"$/s, "$1").toLowerCase();
