import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { textReader } from "../files/streams.ts";

const PAGE_ROWS = 1_000;

/** The longest line of a report. */
const MAX_LINE_CHARACTERS = 16 * 1024 * 1024;

/**
 * The rows of one of Amazon's flat files: tab-separated, unquoted, with a header line. Values remain text, so that an
 * SKU keeps its zeros; an empty cell is null. Throws `upstream` for a line with a different number of cells than the
 * header.
 */
export async function* readSheet(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  charset: string,
): AsyncGenerator<JsonObject[]> {
  let header: string[] | null = null;
  let line = 0;
  let page: JsonObject[] = [];
  for await (const text of linesOf(name, bytes, charset)) {
    line++;
    if (text === "") continue;
    const cells = text.split("\t");
    if (header === null) {
      header = namesOf(cells);
      continue;
    }
    if (cells.length > header.length) {
      throw new AppError(
        "upstream",
        `Line ${line} of the report ${name} has ${cells.length} cells, but its first line names ${header.length}.`,
      );
    }
    page.push(Object.fromEntries(header.map((column, at): [string, Json] => [column, cells[at] || null])));
    if (page.length >= PAGE_ROWS) {
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

/** Appends a number to duplicate column names. */
function namesOf(cells: readonly string[]): string[] {
  const taken = new Set<string>();
  return cells.map((cell, at) => {
    const plain = cell.trim() || `column_${at + 1}`;
    let name = plain;
    for (let number = 2; taken.has(name); number++) name = `${plain}_${number}`;
    taken.add(name);
    return name;
  });
}

async function* linesOf(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  charset: string,
): AsyncGenerator<string> {
  const read = readerOf(name, charset);
  let rest = "";
  for await (const chunk of bytes) {
    const lines = (rest + read(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_CHARACTERS) {
      throw new AppError("upstream", `The report ${name} has a line of more than 16 MiB.`);
    }
    for (const line of lines) yield line.replace(/\r$/, "");
  }
  rest += read();
  if (rest !== "") yield rest.replace(/\r$/, "");
}

/** Amazon uses Java's charset names: `Cp1252`, `SJIS`. */
function readerOf(name: string, charset: string): (chunk?: Uint8Array) => string {
  const label = charset
    .toLowerCase()
    .replace(/^cp(?=12\d\d$)/, "windows-")
    .replace(/^sjis$/, "shift_jis");
  try {
    return textReader(`The report ${name}`, label);
  } catch (cause) {
    throw new AppError("upstream", `The report has the unsupported charset ${charset}.`, {
      cause,
    });
  }
}
