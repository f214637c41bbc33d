/** JSON whose numbers keep their own text, and whose objects keep duplicate keys. */
export type Raw =
  | null
  | boolean
  | string
  | { number: string }
  | Raw[]
  | { fields: [key: string, value: Raw][] };

/** Throws `SyntaxError` for invalid JSON. */
export function parseRaw(text: string): Raw {
  const tokens = text.matchAll(
    /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)|([[\]{},:]))/gy,
  );
  const parts = [...tokens];
  const read = parts.reduce((sum, part) => sum + part[0].length, 0);
  if (text.slice(read).trim() !== "") throw new SyntaxError(`No JSON: ${text.slice(0, 80)}`);
  let at = 0;
  const sign = (): string => parts[at]?.[4] ?? "";
  const value = (): Raw => {
    const [, string, number, word, opening] = parts[at++] ?? [];
    if (string !== undefined) return JSON.parse(string) as string;
    if (number !== undefined) return { number };
    if (word !== undefined) return word === "null" ? null : word === "true";
    if (opening === "[") return list();
    if (opening === "{") return { fields: object() };
    throw new SyntaxError(`No JSON: ${text.slice(0, 80)}`);
  };
  const list = (): Raw[] => {
    const items: Raw[] = [];
    while (sign() !== "]") {
      items.push(value());
      if (sign() === ",") at++;
    }
    at++;
    return items;
  };
  const object = (): [string, Raw][] => {
    const fields: [string, Raw][] = [];
    while (sign() !== "}") {
      const key = value();
      at++;
      fields.push([String(key), value()]);
      if (sign() === ",") at++;
    }
    at++;
    return fields;
  };
  const found = value();
  if (at !== parts.length) throw new SyntaxError(`No JSON: ${text.slice(0, 80)}`);
  return found;
}

/** One text per value: without whitespace, escaped like `JSON.stringify`, with numbers and key order unchanged. */
export function rawText(value: Raw): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(rawText).join(",")}]`;
  if ("number" in value) return value.number;
  return `{${value.fields.map(([key, item]) => `${JSON.stringify(key)}:${rawText(item)}`).join(",")}}`;
}
