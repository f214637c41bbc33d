/** What a run reports about values that didn't arrive. */
export interface Told {
  warnings: readonly string[];
  tables: readonly { table: string; rejected: number }[];
}

const isIn = (text: string, word: string): boolean =>
  new RegExp(`(?<![\\w])${RegExp.escape(word)}(?![\\w])`, "i").test(text);

/** Values that are complete, but as texts: a column has one type. */
const FOR_A_MIX = "became text because the column mixes types";

/** Number of a column's values in the warnings: `orders.amount: 3 values became NULL (…): "infinity", …`. */
export const toldOf = (told: Told, table: string, column: string): number =>
  countOf(told, table, column, (head) => !head.includes(FOR_A_MIX));

/** Number of a column's values reported as texts because the column has several kinds of values. */
export const toldAsTextOf = (told: Told, table: string, column: string): number =>
  countOf(told, table, column, (head) => head.includes(FOR_A_MIX));

function countOf(
  { warnings }: Told,
  table: string,
  column: string,
  isCounted: (head: string) => boolean,
): number {
  let sum = 0;
  for (const warning of warnings) {
    const [head = ""] = warning.split('"');
    if (!isCounted(head) || !isIn(head, table) || !isIn(head, column)) continue;
    const rest = head.replaceAll(table, " ").replaceAll(column, " ");
    const count =
      /(?<![\w.-])(\d[\d,]*)\s+(?:value|row)/.exec(rest) ?? /(?<![\w.-])(\d[\d,]*)(?![\w.-])/.exec(rest);
    sum += count?.[1] === undefined ? 0 : Number(count[1].replaceAll(",", ""));
  }
  return sum;
}

export const rejectedOf = ({ tables }: Told, table: string): number =>
  tables.find((one) => one.table === table)?.rejected ?? 0;
