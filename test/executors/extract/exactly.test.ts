import { expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../src/base/json.ts";
import { scaled, someOf } from "../../support/scale.ts";
import { openWorld, type Source } from "./world.ts";

interface Row extends JsonObject {
  id: number;
  at: number;
  v: number;
  l: number[];
}

/** A change of the source, or a load of it. */
type Event =
  | { what: "insert" | "update"; pick: number; ahead: number; v: number; l: number[] }
  | { what: "delete"; pick: number }
  | { what: "load"; how: How };

/**
 * How a load ends: successfully; with the process killed once everything is in the lake but not committed; with the
 * source's connection cut after this many pages; killed, and executed again as the same run, as after a restart.
 */
type How = "good" | "killed" | "cut early" | "cut late" | "killed and retried";

const PAGE = 2;
const value = fc.integer({ min: 0, max: 3 });
const change = (what: "insert" | "update") =>
  fc.record({
    what: fc.constant(what),
    pick: fc.nat(20),
    ahead: fc.integer({ min: 0, max: 1 }),
    v: value,
    l: fc.array(value, { maxLength: 2 }),
  });
const load = fc.record({
  what: fc.constant("load" as const),
  how: fc.constantFrom<How[]>("good", "killed", "cut early", "cut late", "killed and retried"),
});
const deletion = fc.record({ what: fc.constant("delete" as const), pick: fc.nat(20) });

/** The changes that each write mode can follow: new rows, changed ones, or also deleted ones. */
const MODES = {
  append: {
    resource: { primaryKey: ["id"], incremental: { cursorField: "at" } },
    events: fc.oneof(change("insert"), load),
  },
  merge: {
    resource: { primaryKey: ["id"], writeDisposition: "merge", incremental: { cursorField: "at" } },
    events: fc.oneof(change("insert"), change("update"), load),
  },
  replace: {
    resource: { writeDisposition: "replace" },
    events: fc.oneof(change("insert"), change("update"), deletion, load),
  },
  "append without a key": {
    resource: { incremental: { cursorField: "at" } },
    events: fc.oneof(change("insert"), load),
  },
  "merge of all": {
    resource: { primaryKey: ["id"], writeDisposition: "merge" },
    events: fc.oneof(change("insert"), change("update"), load),
  },
};

for (const [mode, { resource, events }] of someOf(3, Object.entries(MODES))) {
  test(`${mode}: whatever happens to the source and to the loads, the table ends up equal to the source's rows`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array<Event>(events, { minLength: 4, maxLength: 16 }),
        fc.boolean(),
        async (all, isRanged) => {
          await using world = openWorld();
          const source = new Map<number, Row>();
          let [now, ids, runs] = [0, 0, 0];
          const definition = { resources: [{ name: "t", ...resource }] };
          const carryOut = async (how: How) => {
            const loadId = `load-${++runs}`;
            const run = (more: object, cutAfter = Number.POSITIVE_INFINITY) =>
              world.run(definition, pagesOf([...source.values()], isRanged, cutAfter), { loadId, ...more });
            if (how === "good") return void (await run({}));
            if (how.startsWith("killed")) await run({ commit: false });
            if (how === "killed and retried") return void (await run({}));
            if (!how.startsWith("cut")) return;
            const cut = run({}, how === "cut early" ? 0 : 1);
            // A source with fewer pages is read to its end.
            await cut.catch((error: Error) => expect(error.message).toBe("cut"));
          };
          for (const event of all) {
            const known = [...source.keys()];
            if (event.what === "load") await carryOut(event.how);
            else if (event.what === "delete") source.delete(known[event.pick % known.length] ?? 0);
            else {
              const id = event.what === "insert" ? ++ids : known[event.pick % known.length];
              if (id === undefined) continue;
              now += event.ahead;
              source.set(id, { id, at: now, v: event.v, l: event.l });
            }
          }
          await carryOut("good");
          if (!world.tables.some(({ table }) => table === "t")) return void expect(source.size).toBe(0);
          const rows = [...source.values()].toSorted((a, b) => a.id - b.id);
          const found =
            source.size === 0 ? [] : await world.query('SELECT id, "at", v FROM raw.shop__t ORDER BY id');
          expect(found).toEqual(rows.map(({ id, at, v }) => ({ id, at, v })));
          expect(world.tables.find(({ table }) => table === "t")?.rows).toBe(rows.length);
          const items = rows.flatMap(({ id, l }) => l.map((value) => ({ id, value })));
          const child = world.tables.find(({ table }) => table === "t__l");
          expect(child?.rows ?? 0).toBe(items.length);
          if (items.length === 0) return;
          expect(
            await world.query(
              "SELECT t.id, c.value FROM raw.shop__t__l c JOIN raw.shop__t t ON c._dlt_parent_id = t._dlt_id ORDER BY t.id, c._dlt_list_idx",
            ),
          ).toEqual(items);
        },
      ),
      { numRuns: scaled(4, 36), seed: 20_26 },
    );
  }, 120_000);
}

/** A source's rows, in pages; its connection is cut after some of them. */
function pagesOf(all: Row[], isRanged: boolean, cutAfter: number): Source {
  return ({ range }) => {
    const from = range && isRanged ? range.from : null;
    const given = all.filter(({ at }) => from === null || at >= Number(from));
    async function* pages() {
      for (let page = 0; page * PAGE < given.length; page++) {
        if (page >= cutAfter) throw new Error("cut");
        yield given.slice(page * PAGE, (page + 1) * PAGE);
      }
    }
    return { kind: "rows", pages: pages(), ranged: isRanged };
  };
}
