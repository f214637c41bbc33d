import { expect, test } from "bun:test";
import fc from "fast-check";
import { scaled } from "../support/scale.ts";
import { readTables } from "../support/sheets.ts";
import { escapeXml, workbookOf } from "../support/workbook.ts";

const DAY_STYLE = 1;
const TIME_STYLE = 2;
const FORMATS = [14, "h:mm:ss"];

/** A cell in a sheet, and the expected result. */
interface Sample {
  kind: "text" | "number" | "boolean" | "day" | "instant" | "time";
  xml(place: string, shared: string[]): string;
  text: string;
}

/** Texts as workbooks write them: what XML can't hold, and what looks like its escapes, is escaped. */
const stringOf = (text: string) =>
  escapeXml(
    text
      .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, "_x005F_")
      .replaceAll(/[^\t\n -\ufffd]/g, (sign) => `_x${sign.charCodeAt(0).toString(16).padStart(4, "0")}_`),
  );

const text = fc
  .tuple(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom("", "01234", '"', "a,b\r\nc", "_x000D_", "NULL", "true", "1", "  ", "]]>"),
    ),
    fc.constantFrom("shared", "inline", "formula"),
  )
  .map(
    ([text, way]): Sample => ({
      kind: "text",
      text,
      xml(place, shared) {
        const string = stringOf(text);
        if (way === "inline") return `<c r="${place}" t="inlineStr"><is><t>${string}</t></is></c>`;
        if (way === "formula") return `<c r="${place}" t="str"><f>A1</f><v>${string}</v></c>`;
        shared.push(`<si><t xml:space="preserve">${string}</t></si>`);
        return `<c r="${place}" t="s"><v>${shared.length - 1}</v></c>`;
      },
    }),
  );

const valued = (kind: Sample["kind"], style: number, value: string, text = value): Sample => ({
  kind,
  text,
  xml: (place) => `<c r="${place}" s="${style}"><v>${value}</v></c>`,
});

const number = fc
  .oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(0.1, 1e-7, 1e21, -1e-300),
  )
  .map((value) => valued("number", 0, Object.is(value, -0) ? "-0" : String(value)));

const boolean = fc.boolean().map(
  (value): Sample => ({
    kind: "boolean",
    text: String(value),
    xml: (place) => `<c r="${place}" t="b"><v>${Number(value)}</v></c>`,
  }),
);

/** After February 1900, when Excel's days are the usual ones. */
const day = fc.integer({ min: 61, max: 2_958_465 });
const msPerDay = 86_400_000;
const isoOf = (serial: number, ms: number) =>
  new Date(Date.UTC(1899, 11, 30) + serial * msPerDay + ms)
    .toISOString()
    .slice(0, -1)
    .replace(/\.000$/, "");

const days = day.map((serial) => valued("day", DAY_STYLE, String(serial), isoOf(serial, 0).slice(0, 10)));
const clock = fc.integer({ min: 1, max: msPerDay - 1 });
const instants = fc
  .tuple(day, clock)
  .map(([serial, ms]) => valued("instant", DAY_STYLE, String(serial + ms / msPerDay), isoOf(serial, ms)));
const times = clock.map((ms) => valued("time", TIME_STYLE, String(ms / msPerDay), isoOf(0, ms).slice(11)));

const column = fc
  .constantFrom(
    [text],
    [number],
    [boolean],
    [days],
    [days, instants],
    [times],
    [text, number, days, boolean, times],
  )
  .chain((kinds) => fc.array(fc.option(fc.oneof(...kinds), { freq: 4 }), { maxLength: 12 }));
const table = fc.array(column, { minLength: 1, maxLength: 6 });

function typeOf(samples: readonly (Sample | null)[]): string {
  const kinds = [...new Set(samples.flatMap((sample) => sample?.kind ?? []))].sort().join(" ");
  const types: Record<string, string> = { number: "number", boolean: "BOOLEAN", day: "DATE", time: "TIME" };
  return types[kinds] ?? (kinds === "instant" || kinds === "day instant" ? "TIMESTAMP" : "VARCHAR");
}

/** Numbers may lose their exponent, but nothing else. */
function expectCell(found: string | null | undefined, sample: Sample | null | undefined, type: string): void {
  if (!sample) return expect(found).toBe(null);
  if (sample.kind === "number") return expect(Number(found)).toBe(Number(sample.text));
  const isMidnight = sample.kind === "day" && type === "TIMESTAMP";
  expect(found).toBe(isMidnight ? `${sample.text}T00:00:00` : sample.text);
}

test("any table of texts, numbers, dates and booleans is returned cell by cell", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(table, { minLength: 20, maxLength: 40 }), async (tables) => {
      const shared: string[] = [];
      const sheets = tables.map((columns) => {
        const height = Math.max(...columns.map(({ length }) => length));
        const header = columns.map((_, at) => `<c t="inlineStr"><is><t>c${at}</t></is></c>`).join("");
        const rows = Array.from({ length: height }, (_, row) =>
          columns
            .map((cells, at) => cells[row]?.xml(`${String.fromCharCode(65 + at)}${row + 2}`, shared) ?? "")
            .join(""),
        );
        return `<row r="1">${header}</row>${rows.map((cells, at) => `<row r="${at + 2}">${cells}</row>`).join("")}`;
      });
      const names = Object.fromEntries(sheets.map((sheet, at) => [`s${at}`, sheet]));
      const found = await readTables(workbookOf({ sheets: names, shared, formats: FORMATS }));
      expect(found.length).toBe(tables.length);
      for (const [at, columns] of tables.entries()) {
        const height = Math.max(...columns.map(({ length }) => length));
        const rows = Array.from({ length: height }, (_, row) =>
          columns.map((cells) => cells[row] ?? null),
        ).filter((cells) => cells.some((cell) => cell !== null));
        const types = columns.map(typeOf);
        expect(found[at]?.columns.map(({ type }) => type)).toEqual(types);
        expect(found[at]?.values.length).toBe(rows.length);
        for (const [row, cells] of rows.entries()) {
          for (const [column, cell] of cells.entries()) {
            expectCell(found[at]?.values[row]?.[column], cell, types[column] ?? "");
          }
        }
        for (const [column, cells] of columns.entries()) {
          const changed =
            types[column] === "VARCHAR" ? cells.filter((cell) => cell && cell.kind !== "text") : [];
          const odd = (found[at]?.odd ?? []).filter((values) => values.column === `c${column}`);
          expect(odd.reduce((sum, { count }) => sum + count, 0)).toBe(changed.length);
        }
      }
    }),
    { numRuns: scaled(6, 60), seed: 20_26 },
  );
});
