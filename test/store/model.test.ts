import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { asc, eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { AppError } from "../../src/base/errors.ts";
import { insertInto } from "../../src/store/prepared.ts";
import { isUniqueViolation, type Store, type WriteDb } from "../../src/store/store.ts";
import { scaled } from "../support/scale.ts";
import { localPlace, MIGRATIONS, notes } from "./harness.ts";

const insertNote = insertInto(notes);

/** What a piece of work does, in order. `isCaught`: it continues after an error of the database. */
type Step =
  | { do: "insert"; id: string; title: string | null; isCaught: boolean }
  | { do: "insertAtOnce"; id: string; title: string | null; isCaught: boolean }
  | { do: "retitle"; id: string; title: string; isCaught: boolean }
  | { do: "remove"; id: string }
  | { do: "read" }
  | { do: "grow"; id: string }
  | { do: "rest" }
  | { do: "fail" };

type Fate = "fulfilled" | "unique" | "failed" | "full" | "commit";

interface Work {
  steps: Step[];
  /** The next piece of work is requested after this many turns of the event loop. */
  turns: number;
}

type Rows = ReadonlyMap<string, string | null>;

class Failure extends Error {}
class CommitFailure extends Error {}
class Refused extends Error {}

/** Runs the steps on the store. Returns what its reads have seen. */
async function carryOut(db: WriteDb, steps: readonly Step[]): Promise<string[][]> {
  const seen: string[][] = [];
  for (const step of steps) {
    try {
      await take(db, step, seen);
    } catch (error) {
      if (!("isCaught" in step && step.isCaught && isUniqueViolation(error))) throw error;
    }
  }
  return seen;
}

async function take(db: WriteDb, step: Step, seen: string[][]): Promise<void> {
  switch (step.do) {
    case "insert":
      return insertNote(db, { id: step.id, someTitle: step.title, count: null, ratio: null, body: null });
    case "insertAtOnce":
      return void (await db.insert(notes).values({ id: step.id, someTitle: step.title }));
    case "retitle":
      return void (await db.update(notes).set({ someTitle: step.title }).where(eq(notes.id, step.id)));
    case "remove":
      return void (await db.delete(notes).where(eq(notes.id, step.id)));
    case "grow":
      return void (await db
        .update(notes)
        .set({ body: "x".repeat(40_000) })
        .where(eq(notes.id, step.id)));
    case "read":
      return void seen.push((await db.select().from(notes).orderBy(asc(notes.id))).map(textOf));
    case "rest":
      return new Promise((resolve) => setImmediate(resolve));
    case "fail":
      throw new Failure("The work fails by itself.");
  }
}

const textOf = ({ id, someTitle }: { id: string; someTitle: string | null }) => `${id}=${someTitle}`;
const textsOf = (rows: Rows) =>
  [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, someTitle]) => textOf({ id, someTitle }));

/** Runs the same on the model. Throws if the database would fail. */
function model(before: Rows, steps: readonly Step[]): { rows: Rows; seen: string[][] } {
  const rows = new Map(before);
  const seen: string[][] = [];
  const isTaken = (title: string | null, but: string) =>
    title !== null && [...rows].some(([id, other]) => id !== but && other === title);
  for (const step of steps) {
    if (step.do === "fail") throw new Failure();
    if (step.do === "read") seen.push(textsOf(rows));
    if (step.do === "remove") rows.delete(step.id);
    if (step.do === "insert" || step.do === "insertAtOnce" || step.do === "retitle") {
      if (step.do === "retitle" && !rows.has(step.id)) continue;
      const isRefused = (step.do !== "retitle" && rows.has(step.id)) || isTaken(step.title, step.id);
      if (isRefused && !step.isCaught) throw new Refused();
      if (!isRefused) rows.set(step.id, step.title);
    }
  }
  return { rows, seen };
}

function fateOf(error: unknown): Fate {
  if (error instanceof Failure) return "failed";
  if (isUniqueViolation(error)) return "unique";
  if (error instanceof CommitFailure) return "commit";
  if (error instanceof AppError && error.code === "disk_full") return "full";
  throw error;
}

const ID = fc.constantFrom("a", "b", "c", "d", "e");
const TITLE = fc.constantFrom("one", "two", "three", "four");
const TITLE_OR_NONE = fc.option(TITLE, { nil: null, freq: 2 });
const insert = (kind: "insert" | "insertAtOnce") =>
  fc.record({ do: fc.constant(kind), id: ID, title: TITLE_OR_NONE, isCaught: fc.boolean() });
const insertion = { do: "insert", id: "a", title: "one", isCaught: false } as const;
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: insert("insert") },
  { weight: 2, arbitrary: insert("insertAtOnce") },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("retitle" as const),
      id: ID,
      title: TITLE,
      isCaught: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("remove" as const), id: ID }) },
  { weight: 2, arbitrary: fc.constant({ do: "read" } as const) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("grow" as const), id: ID }) },
  { weight: 1, arbitrary: fc.constant({ do: "rest" } as const) },
  { weight: 1, arbitrary: fc.constant({ do: "fail" } as const) },
);
const WORK: fc.Arbitrary<Work> = fc.record({
  steps: fc.array(STEP, { maxLength: 6 }),
  turns: fc.constantFrom(0, 0, 0, 1, 3),
});
const CASE = fc.record({
  works: fc.array(WORK, { minLength: 1, maxLength: 30 }),
  /** The file can grow by this many pages; then the disk is full. */
  pagesLeft: fc.option(fc.constantFrom(0, 1, 5, 15), { nil: null }),
  /** Commits that fail, by number. */
  failing: fc.array(fc.nat(8), { maxLength: 2 }),
});

async function limitPages(store: Store, pagesLeft: number | null): Promise<void> {
  await store.write(async (db) => {
    const row = await db.get<{ page_count: number }>("PRAGMA page_count");
    const pages = pagesLeft === null ? 1_000_000 : (row?.page_count ?? 0) + pagesLeft;
    await db.get(sql.raw(`PRAGMA max_page_count = ${pages}`));
  });
}

test("whatever transactions do and however they fail, the store has what the successful ones left, in order", async () => {
  const met = new Set<Fate>();
  await using place = localPlace();
  let commits = Number.NEGATIVE_INFINITY;
  let failing: readonly number[] = [];
  const beforeCommit = () => {
    if (failing.includes(commits++)) throw new CommitFailure("The commit fails.");
  };
  const store = await place.open(MIGRATIONS, { beforeCommit });
  const property = fc.asyncProperty(CASE, async ({ works, pagesLeft, failing: chosen }) => {
    await store.write(async (db) => void (await db.delete(notes)));
    await limitPages(store, pagesLeft);
    [commits, failing] = [0, chosen];
    const asked: Promise<PromiseSettledResult<string[][]>>[] = [];
    for (const { steps, turns } of works) {
      asked.push(
        ...[store.write((db) => carryOut(db, steps))].map(
          async (one) => (await Promise.allSettled([one]))[0],
        ),
      );
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    const ends = await Promise.all(asked);
    failing = [];
    let rows: Rows = new Map();
    for (const [index, end] of ends.entries()) {
      const { steps } = works[index] as Work;
      if (end.status === "rejected") {
        const fate = fateOf(end.reason);
        met.add(fate);
        if (fate === "failed") expect(() => model(rows, steps)).toThrow(); // What wasn't awaited may fail too.
        if (fate === "unique") expect(() => model(rows, steps)).toThrow(Refused);
        if (fate === "full") expect(pagesLeft).not.toBeNull();
      } else {
        met.add("fulfilled");
        const expected = model(rows, steps);
        expect(end.value).toEqual(expected.seen);
        rows = expected.rows;
      }
    }
    await limitPages(store, null);
    expect((await store.db.select().from(notes).orderBy(asc(notes.id))).map(textOf)).toEqual(textsOf(rows));
  });
  const full = { steps: [insertion, { do: "grow", id: "a" } as const], turns: 0 };
  await fc.assert(property, {
    numRuns: scaled(50, 450),
    seed: 20_26,
    examples: [[{ works: [full], pagesLeft: 0, failing: [] }]],
  });
  expect([...met].sort()).toEqual(["commit", "failed", "fulfilled", "full", "unique"]);

  const kept = await store.db.select().from(notes).orderBy(asc(notes.id));
  await store.close();
  const file = new Database(place.path);
  expect(file.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
  file.close();
  const again = await place.open();
  expect(await again.db.select().from(notes).orderBy(asc(notes.id))).toEqual(kept);
  await again.close();
}, 120_000);
