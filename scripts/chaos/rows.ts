import type { Books, Case, Figures } from "./books.ts";
import { type TableFlows, WRITTEN } from "./tables.ts";

type Rows = Pick<Figures, "tableLoads" | "rowsLost" | "rowsTwice">;

/** Totals of one run's rows in each table. */
const SUMS = {
  appended: { value: "sum(id)", right: sumTo(WRITTEN.appended) },
  copied: { value: "sum(id)", right: sumTo(WRITTEN.copied) },
  doubled: { value: "sum(twice)", right: 2 * sumTo(WRITTEN.doubled) },
} as const;

function sumTo(count: number): number {
  return (count * (count - 1)) / 2;
}

/**
 * Each completed load is in its table, complete and once.
 * One of a failed or cancelled run is there completely and once, or not at all. Nothing else is there.
 */
export async function checkRows(books: Books, { plant }: Case): Promise<Rows> {
  const all: Rows = { tableLoads: 0, rowsLost: 0, rowsTwice: 0 };
  for (const flows of plant.tables) await checkDatabase({ books, flows, all });
  return all;
}

interface Check {
  books: Books;
  flows: TableFlows;
  all: Rows;
}

async function checkDatabase(check: Check): Promise<void> {
  const { books, flows } = check;
  const { rows } = flows.database;
  const written = new Map<string, Set<string>>();
  const isMade = (await rows("select 1 from information_schema.tables where table_name = '_weir_loads'"))
    .length;
  for (const [id = "", table = ""] of isMade
    ? await rows("select load_id, table_name from _weir_loads")
    : []) {
    const name = String(table).replace(/^.*\./, "");
    written.set(name, (written.get(name) ?? new Set()).add(String(id)));
  }
  const runs = books.rows<{ id: string; table: string; status: string }>(
    `select id, status, definition ->> '$.output.table' as "table" from action_runs
      where kind = 'duckdb_transform' and definition ->> '$.output.connectionId' = ?`,
    flows.connectionId,
  );
  const known = new Set(runs.map(({ id }) => id));
  for (const { id, table, status } of runs) {
    if (status !== "completed") continue;
    check.all.tableLoads++;
    if (!written.get(table)?.has(id)) fault(check, `the run ${id} completed and ${table} has no load of it`);
  }
  for (const [table, ids] of written)
    for (const id of ids) if (!known.has(id)) fault(check, `${table} has a load ${id} of no run`);
  for (const table of ["appended", "copied", "doubled"] as const)
    if (written.has(table)) await checkAppended(check, table, written.get(table) ?? new Set());
  const [[tally] = []] = await rows("select n from tally where name = 'all'");
  const counted = written.get("tally")?.size ?? 0;
  if (Number(tally) !== counted) {
    fault(check, `tally says ${tally}, and ${counted} loads went into it`);
    check.all.rowsLost += Math.max(0, counted - Number(tally));
    check.all.rowsTwice += Math.max(0, Number(tally) - counted);
  }
  await checkEqual(check, written);
}

async function checkAppended(
  check: Check,
  table: keyof typeof SUMS,
  written: ReadonlySet<string>,
): Promise<void> {
  const { value, right } = SUMS[table];
  const found = new Map(
    (
      await check.flows.database.rows(
        `select run, count(*), count(distinct id), ${value} from ${table} group by run`,
      )
    ).map(([run, ...sums]) => [run, sums.map(Number)]),
  );
  for (const run of new Set([...written, ...found.keys()])) {
    const [count = 0, ids = 0, sum = 0] = found.get(run ?? "") ?? [];
    check.all.rowsTwice += count - ids;
    check.all.rowsLost += WRITTEN[table] - ids;
    if (count !== WRITTEN[table] || ids !== WRITTEN[table] || sum !== right || !written.has(run ?? ""))
      fault(check, `${table} has ${count} rows of the run ${run} with ${ids} ids and the sum ${sum}`);
  }
}

/** Data read from a table and written to another equals the original. */
async function checkEqual(check: Check, written: ReadonlyMap<string, unknown>): Promise<void> {
  const { rows } = check.flows.database;
  const different = `s.id is null or (s.name is null) <> (t.name is null) or s.name <> t.name or s.amount <> t.amount`;
  for (const table of ["copied", "mirror"]) {
    if (!written.has(table)) continue;
    const [[count] = []] = await rows(
      `select count(*) from ${table} t left join source s on s.id = t.id where ${different}`,
    );
    if (count !== "0") fault(check, `${table} has ${count} rows that its source does not have`);
  }
  if (!written.has("mirror")) return;
  const [[count, ids] = []] = await rows("select count(*), count(distinct id) from mirror");
  if (Number(count) !== WRITTEN.copied || Number(ids) !== WRITTEN.copied)
    fault(check, `mirror has ${count} rows with ${ids} ids; ${WRITTEN.copied} were right`);
}

const fault = ({ books, flows }: Check, text: string) =>
  void books.faults.push(`${flows.database.provider}: ${text}`);
