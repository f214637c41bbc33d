/** What a run says of values that did not arrive. */
export interface Told {
  warnings: readonly string[];
  tables: readonly { table: string; rejected: number }[];
}

const isIn = (text: string, word: string): boolean =>
  new RegExp(`(?<![\\w])${RegExp.escape(word)}(?![\\w])`, "i").test(text);

/** How many values of a column the warnings count: `orders.amount: 3 values became NULL (…): "infinity", …`. */
export function toldOf({ warnings }: Told, table: string, column: string): number {
  let sum = 0;
  for (const warning of warnings) {
    const [head = ""] = warning.split('"');
    if (!isIn(head, table) || !isIn(head, column)) continue;
    const rest = head.replaceAll(table, " ").replaceAll(column, " ");
    const count =
      /(?<![\w.-])(\d[\d,]*)\s+(?:value|row)/.exec(rest) ?? /(?<![\w.-])(\d[\d,]*)(?![\w.-])/.exec(rest);
    sum += count?.[1] === undefined ? 0 : Number(count[1].replaceAll(",", ""));
  }
  return sum;
}

export const rejectedOf = ({ tables }: Told, table: string): number =>
  tables.find((one) => one.table === table)?.rejected ?? 0;
