import { filled, textFor } from "../../texts/text.ts";
import { counted } from "./time.tsx";

/**
 * Returns the text for `count` in the page's language, with each `#` replaced by the count: `{ one: "# run", other:
 * "# runs" }`. Callers pass literals, so that translations can find them.
 */
export const plural = (
  count: number,
  { one, other }: { one: string; other: string },
  values: Readonly<Record<string, string>> = {},
): string => filled(textFor(count, one, other).replaceAll("#", counted(count)), values);
