import { counted } from "./time.tsx";

const RULES = new Intl.PluralRules("en");

/** Returns the sentence for `count`, with each `#` replaced by the count: `{ one: "# run", other: "# runs" }`. */
export const plural = (count: number, { one, other }: { one: string; other: string }): string =>
  (RULES.select(count) === "one" ? one : other).replaceAll("#", counted(count));
