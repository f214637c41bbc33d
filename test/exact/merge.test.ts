import { expect, test } from "bun:test";
import { connectPostgres } from "../data/place.ts";
import { startInstallation } from "../support/process.ts";
import { ACTIONS, created, makeAction, runEnd } from "../support/work.ts";
import { type Kind, numberFrom } from "./canon.ts";
import { instantFrom } from "./civil.ts";
import { cellOf, shown } from "./compare.ts";
import { type LakeRow, type LakeTables, readLake } from "./lake.ts";
import { chances, changesOf } from "./merge-rounds.ts";
import { MIRRORS, type Mirror, SET_UP } from "./merge-tables.ts";
import { startOddPostgres } from "./postgres-source.ts";
import { ROUNDS, SEED } from "./scale.ts";

/** The same text for equal values. */
function canonical(kind: Kind, text: string | null): string | null {
  if (text === null) return null;
  if (kind === "number") return numberFrom(text) ?? text;
  return kind === "timestamptz" ? String(instantFrom(text)?.nanos ?? text) : text;
}

const textOf = ({ kinds }: Mirror, read: (column: string) => string | null): string =>
  JSON.stringify(Object.entries(kinds).map(([column, kind]) => canonical(kind, read(column))));

/** The lake's rows, without those that are only marked as deleted. */
const rowsOf = (mirror: Mirror, rows: readonly LakeRow[]): string[] =>
  rows
    .filter(({ values }) => (values._dlt_deleted_at ?? null) === null)
    .map((row) => textOf(mirror, (column) => cellOf(row, column).value as string | null));

/** What one list has beyond the other, counting duplicates. */
function beyond(one: readonly string[], other: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const text of other) left.set(text, (left.get(text) ?? 0) + 1);
  return one.filter((text) => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  });
}

test("merged, replaced and appended tables equal the source after inserts, updates, deletes and kills", async () => {
  await using pg = await startOddPostgres();
  await using installation = await startInstallation();
  const chance = chances();
  await pg.sql.unsafe(SET_UP);
  const change = changesOf(pg, chance);
  const session = await pg.sql.reserve();
  await session.unsafe("set timezone = 'UTC'; set datestyle = 'ISO, YMD'");

  let server = await installation.serve();
  const connectionId = await connectPostgres(server.owner, pg);
  const groups = [...Map.groupBy(MIRRORS, ({ group }) => group)];
  const actions: string[] = [];
  for (const [dataset, mirrors] of groups) {
    const definition = { dataset, resources: mirrors.map(({ resource }) => resource) };
    actions.push((await makeAction(server.owner, { kind: "dlt_extract", connectionId, definition })).id);
  }

  const differenceOf = async (mirror: Mirror, lake: LakeTables): Promise<string | null> => {
    const columns = Object.keys(mirror.kinds);
    const select = `select ${columns.map((column) => `${column}::text`).join()} from ${mirror.select}`;
    const source = (await session.unsafe(select).values()).map((row) =>
      textOf(mirror, (column) => row[columns.indexOf(column)] as string | null),
    );
    const there = rowsOf(mirror, lake.get(mirror.resource.name) ?? []);
    const [missing, extra] = [beyond(source, there), beyond(there, source)];
    if (missing.length + extra.length === 0) return null;
    const such = (rows: string[]) =>
      rows.length === 0 ? "0" : `${rows.length}, such as ${shown(rows[0] ?? "")}`;
    return `of ${source.length} rows the lake lacks ${such(missing)}, and beside them it has ${such(extra)}`;
  };

  /** The first fault of each table, or of a group's run. */
  const wrong = new Map<string, string>();
  const note = (name: string, round: number, what: string) => {
    if (!wrong.has(name)) wrong.set(name, `${name}, round ${round}: ${what}`);
  };
  for (let round = 1; round <= ROUNDS; round++) {
    await change(round);
    const runs: string[] = [];
    for (const action of actions)
      runs.push(created(await server.owner("POST", `${ACTIONS}/${action}/run`)).id);
    for (let deaths = round % 5 === 0 ? 2 : round % 2; deaths > 0; deaths--) {
      // At any time during the runs, or after their end.
      for (let looks = Math.floor(chance() * 60); looks > 0; looks--) await server.owner("GET", ACTIONS);
      await server.end("SIGKILL");
      server = await installation.serve();
    }
    for (const [at, [dataset, mirrors]] of groups.entries()) {
      const ended = await runEnd(server.owner, runs[at] ?? "");
      if (ended.status !== "completed") {
        note(dataset, round, `${ended.status} ${JSON.stringify(ended.error)}`);
        continue;
      }
      const lake = await readLake(installation.dataFolder, "raw", dataset);
      for (const mirror of mirrors) {
        const what = await differenceOf(mirror, lake);
        if (what) note(mirror.resource.name, round, what);
      }
    }
  }
  session.release();
  expect({ seed: SEED, wrong: [...wrong.values()] }).toEqual({ seed: SEED, wrong: [] });
}, 3_600_000);
