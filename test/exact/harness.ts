import type { startData } from "../data/place.ts";
import type { Answer } from "../support/app.ts";
import { pause } from "../support/pause.ts";
import { RUNS } from "../support/work.ts";
import { numberFrom } from "./canon.ts";
import { compare, type Difference } from "./compare.ts";
import { type LakeTables, readLake } from "./lake.ts";
import { IS_DEEP, SEED } from "./scale.ts";
import { type Made, partOf, type SourceTable } from "./table.ts";

/** A source of tables, with a connection to it. */
export interface Source {
  name: string;
  connectionId: string;
  /** Creates the tables there, and returns what the source itself reports for them. */
  put(tables: SourceTable[]): Promise<Made[]>;
  /** Deletes the tables. Not needed for a source that stores little. */
  clear?(tables: SourceTable[]): Promise<void>;
  /** Compares a table with the lake. Default: without nesting. */
  compare?: typeof compare;
}

type Data = Awaited<ReturnType<typeof startData>>;

/** Maximum number of resources per extract. */
const TOGETHER = 100;
let datasets = 0;

/** Loads tables through the front door, a hundred per run, and finds differences that weren't reported. */
async function differencesOf(data: Data, source: Source, tables: SourceTable[]): Promise<Difference[]> {
  const found: Difference[] = [];
  for (let at = 0; at < tables.length; at += TOGETHER) {
    const batch = tables.slice(at, at + TOGETHER);
    const made = await source.put(batch);
    const pairs = batch.map((table, index) => ({ table, made: made[index] as Made }));
    found.push(...(await load(data, source, pairs)));
    await source.clear?.(batch);
  }
  return found;
}

type Pair = { table: SourceTable; made: Made };

async function load(data: Data, source: Source, pairs: Pair[]): Promise<Difference[]> {
  const { run, lake } = await extract(data, source, pairs);
  if (run.status !== "completed") return failed(data, source, pairs, run.error);
  const ways = source.compare ?? compare;
  return pairs.flatMap(({ table, made }) =>
    ways(table, made, lake, run.result).filter((one) => !isSignOfZero(one, made)),
  );
}

/**
 * Returns whether a zero of a float column has the other sign, and the column has zeros of both.
 * DuckDB's dictionary pages of Parquet keep only one of them: they are equal.
 */
function isSignOfZero({ column, source, lake }: Difference, { values }: Made): boolean {
  if (column === null || !/^-?0 \((float|double)\)$/.test(lake) || !isZero(numberFrom(source))) return false;
  const signs = new Set(values.map((row) => numberFrom(String(row[column]))).filter(isZero));
  return signs.size === 2;
}

const isZero = (number: string | null): boolean => number === "0" || number === "-0";

/** Runs one extract, and returns its end and its dataset, which is then deleted. */
async function extract(data: Data, source: Source, pairs: Pair[]) {
  const dataset = `e${++datasets}`;
  const resources = pairs.map(({ table, made }) => ({
    name: table.name,
    ...made.resource,
    ...table.resource,
  }));
  const { id } = await data.begin(
    "dlt_extract",
    { dataset, resources },
    { connectionId: source.connectionId },
  );
  const run = await endOf(data, id);
  const lake = await readLake(data.app.dataFolder, "raw", dataset);
  const gone = await data.owner("DELETE", `/api/v1/datasets/raw/${dataset}`);
  if (gone.status !== 204 && gone.status !== 404) throw new Error(`${gone.status} ${gone.text}`);
  return { run, lake };
}

/** The lake's tables, a hundred at most. Throws if the run fails. */
export async function loadTables(data: Data, source: Source, tables: SourceTable[]): Promise<LakeTables> {
  const made = await source.put(tables);
  const { run, lake } = await extract(
    data,
    source,
    tables.map((table, at) => ({ table, made: made[at] as Made })),
  );
  await source.clear?.(tables);
  if (run.status !== "completed") throw new Error(`${run.status} ${JSON.stringify(run.error)}`);
  return lake;
}

/** A failed run names one of its tables that can't be loaded; the others are loaded without it. */
async function failed(
  data: Data,
  source: Source,
  pairs: Pair[],
  error: Answer["body"],
): Promise<Difference[]> {
  const said = `${error?.code} ${error?.message}`;
  const named = pairs.filter(({ table }) => new RegExp(`\\b${table.name}\\b`).test(JSON.stringify(error)));
  const [one] = named.length === 1 ? named : pairs.length === 1 ? pairs : [];
  if (one) {
    const rest = pairs.filter((pair) => pair !== one);
    const why = `the run failed: ${said.replaceAll(one.table.name, "TABLE").slice(0, 300)}`;
    const difference = {
      table: one.table.name,
      column: null,
      type: "",
      row: null,
      source: "",
      lake: "",
      why,
    };
    return [difference, ...(rest.length > 0 ? await load(data, source, rest) : [])];
  }
  const half = Math.ceil(pairs.length / 2);
  return [
    ...(await load(data, source, pairs.slice(0, half))),
    ...(await load(data, source, pairs.slice(half))),
  ];
}

async function endOf(data: Data, id: string): Promise<Answer["body"]> {
  for (const start = performance.now(); ; await pause(start)) {
    const { body } = await data.owner("GET", `${RUNS}/${id}`);
    if (["completed", "failed", "cancelled"].includes(body.status)) return body;
  }
}

const SHOWN = 3;

/**
 * One line per kind of difference, with the smallest table that has it. Empty if everything arrived or was reported.
 */
export async function reportOf(data: Data, source: Source, tables: SourceTable[]): Promise<string[]> {
  const started = performance.now();
  const found = await differencesOf(data, source, tables);
  const seconds = (performance.now() - started) / 1000;
  if (IS_DEEP)
    console.log(`${source.name}: ${tables.length} tables, ${(tables.length / seconds).toFixed(1)} a second`);
  const groups = Map.groupBy(
    found,
    ({ type, lake, why }) => `${type}|${/\((\S+)\)$/.exec(lake)?.[1]}|${why}`,
  );
  const smallest = await shrink(
    data,
    source,
    tables,
    [...groups.values()].flatMap((group) => group[0] ?? []),
  );
  return [...groups.values()].map((group) => {
    const [first] = group as [Difference];
    const { type, why } = first;
    const examples = group
      .slice(0, SHOWN)
      .map((one) => (one.lake ? `${one.source} → ${one.lake}` : one.table));
    const small = smallest.get(first) ?? "the whole table";
    return `${source.name} ${type || "table"}: ${group.length}× ${why}: ${examples.join("; ")} [seed ${SEED}, ${first.table}, ${small}]`;
  });
}

/** Tries the column and the row alone, then the column with the previous rows. */
async function shrink(
  data: Data,
  source: Source,
  tables: SourceTable[],
  firsts: Difference[],
): Promise<Map<Difference, string>> {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const smallest = new Map<Difference, string>();
  let left = firsts.filter(({ column, row }) => column !== null && row !== null);
  for (const [words, rowsOf] of [
    ["its row alone", (row: number, _count: number) => [row]],
    ["its column alone", (_row: number, count: number) => Array.from({ length: count }, (_, at) => at)],
  ] as const) {
    const parts = left.map(({ table, column, row }, at) => {
      const whole = byName.get(table) as SourceTable;
      return partOf(whole, `small${at}`, [column as number], rowsOf(row as number, whole.rows.length));
    });
    const still = new Set((await differencesOf(data, source, parts)).map(({ table }) => table));
    for (const [at, one] of left.entries()) if (still.has(`small${at}`)) smallest.set(one, words);
    left = left.filter((one) => !smallest.has(one));
  }
  return smallest;
}
