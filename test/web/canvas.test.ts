import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { arrange, HEIGHT, WIDTH } from "../../web/parts/canvas/arrange.ts";
import { fromText, toYaml } from "../../web/parts/canvas/clipboard.ts";
import {
  addAfter,
  connect,
  disconnect,
  insertOn,
  takeOut,
  unguarded,
} from "../../web/parts/canvas/commands.ts";
import {
  dependencyOf,
  inSteps,
  linksOf,
  reaches,
  TRIGGER,
  unsound,
  upTo,
} from "../../web/parts/canvas/config.ts";
import { addCopies } from "../../web/parts/canvas/copies.ts";
import { commit, openHistory, rebase, redo, undo } from "../../web/parts/canvas/history.ts";
import { between, NO_LAYOUT } from "../../web/parts/canvas/layout.ts";
import { apply, diff, invert, isEmpty, isSame, merge, takeTheirs } from "../../web/parts/canvas/patch.ts";
import { freshKey, type StepValue, stepsIn } from "../../web/parts/canvas/steps-config.ts";

type Config = Record<string, unknown>;

const KEYS = ["a", "b", "c", "d", "e", "f", "g", "h"];

/** Steps without circles: each depends only on earlier ones, sometimes on branches of theirs. */
const configs: fc.Arbitrary<Config> = fc
  .array(
    fc.record({
      at: fc.nat(KEYS.length - 1),
      parents: fc.array(fc.tuple(fc.nat(KEYS.length - 1), fc.constantFrom("", ":big")), { maxLength: 3 }),
      name: fc.constantFrom("one", "two", "three"),
      when: fc.option(fc.constantFrom("x > 1", "y"), { nil: undefined }),
    }),
    { maxLength: 8 },
  )
  .map((drawn) => {
    const steps = new Map<string, StepValue>();
    for (const { at, parents, name, when } of drawn) {
      const dependsOn = [
        ...new Set(parents.flatMap(([parent, branch]) => (parent < at ? [KEYS[parent] + branch] : []))),
      ].filter((text) => steps.has(dependencyOf(text).key));
      const key = KEYS[at] as string;
      if (steps.has(key)) continue;
      steps.set(key, {
        key,
        name,
        ...(when === undefined ? {} : { when }),
        ...(dependsOn.length > 0 ? { dependsOn } : {}),
      });
    }
    return { steps: [...steps.values()] };
  });
const withFields = fc
  .tuple(configs, fc.record({ schedule: fc.constantFrom("daily", "hourly"), expect: fc.nat(3) }))
  .map(([config, fields]): Config => ({ ...config, ...fields }));

const sorted = (config: Config): Config => ({
  ...config,
  steps: [...stepsIn(config)]
    .map((step) => ({ ...step, ...(step.dependsOn ? { dependsOn: [...step.dependsOn].sort() } : {}) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1)),
});
const isEqual = (one: Config, other: Config) => isSame(sorted(one), sorted(other));
const keysOf = (config: Config) => stepsIn(config).map(({ key }) => key);

describe("a patch", () => {
  test("turns the one config into the other, and back again when it is inverted", () => {
    fc.assert(
      fc.property(withFields, withFields, (before, after) => {
        const patch = diff(before, after, "");
        const there = apply(before, patch);
        expect(there.conflicts).toEqual([]);
        expect(isEqual(there.config, after)).toBe(true);
        expect(isEqual(apply(there.config, invert(patch)).config, before)).toBe(true);
        expect(isEmpty(diff(after, there.config, ""))).toBe(true);
      }),
    );
  });

  test("merges changes of different steps in either order, and asks only if both changed the same", () => {
    const rename = (config: Config, key: string, name: string): Config => ({
      ...config,
      steps: stepsIn(config).map((step) => (step.key === key ? { ...step, name } : step)),
    });
    fc.assert(
      fc.property(configs, fc.nat(7), fc.nat(7), (base, one, other) => {
        const [mine, theirs] = [rename(base, KEYS[one]!, "mine"), rename(base, KEYS[other]!, "theirs")];
        const [first, second] = [merge(base, theirs, mine), merge(base, mine, theirs)];
        const isThere = keysOf(base).includes(KEYS[one]!);
        expect(first.conflicts.length).toBe(one === other && isThere ? 1 : 0);
        if (one !== other) expect(isEqual(first.config, second.config)).toBe(true);
        else if (isThere) expect(isEqual(takeTheirs(first.config, first.conflicts[0]!), theirs)).toBe(true);
      }),
    );
  });

  test("treats edges as a set, and reports a step that one removed and the other changed", () => {
    const base = { steps: [{ key: "a" }, { key: "b" }, { key: "c", dependsOn: ["a"] }] };
    const theirs = disconnect(base, "a", "c");
    const { config, conflicts } = merge(base, theirs, connect(base, "b", "c"));
    expect(conflicts).toEqual([]);
    expect(stepsIn(config)[2]).toEqual({ key: "c", dependsOn: ["b"] });
    const changed = { steps: [{ key: "a", name: "A" }, { key: "b" }, { key: "c", dependsOn: ["a"] }] };
    const clash = merge(base, takeOut(base, new Set(["a"])), changed);
    expect(clash.conflicts).toMatchObject([{ step: "a", field: "", theirs: undefined }]);
    expect(keysOf(takeTheirs(clash.config, clash.conflicts[0]!))).toEqual(["b", "c"]);
  });

  test("is empty if a form wrote keys in another order", () => {
    const config = { schedule: { cron: "0 * * * *", timezone: "UTC" } };
    const other = { schedule: { timezone: "UTC", cron: "0 * * * *" } };
    expect(isEmpty(diff(config, other, ""))).toBe(true);
  });
});

describe("the history", () => {
  test("goes back to the start and forward to the end, whatever was done", () => {
    fc.assert(
      fc.property(withFields, fc.array(withFields, { maxLength: 6 }), (start, states) => {
        let history = openHistory(start, NO_LAYOUT);
        for (const config of states) history = commit(history, { label: "", config });
        const end = history.config;
        const count = history.past.length;
        for (let n = 0; n < count; n++) history = undo(history)!;
        expect(isEqual(history.config, start)).toBe(true);
        expect(undo(history)).toBe(history);
        for (let n = 0; n < count; n++) history = redo(history)!;
        expect(isEqual(history.config, end)).toBe(true);
      }),
    );
  });

  test("treats typing in one field within a second as one entry", () => {
    const named = (name: string) => ({ steps: [{ key: "a", name }] });
    let history = openHistory(named("") as Config, NO_LAYOUT);
    for (const [at, name] of ["L", "Lo", "Load"].entries())
      history = commit(history, { label: "Rename", config: named(name), scope: "a.name", at: at * 400 });
    history = commit(history, { label: "Rename", config: named("Load 2"), scope: "a.name", at: 5000 });
    expect(history.past.length).toBe(2);
    history = undo(undo(history)!)!;
    expect(stepsIn(history.config)[0]!.name).toBe("");
  });

  test("undoes only the user's own changes, keeping what others saved, and nothing if that conflicts", () => {
    const base = {
      steps: [
        { key: "a", name: "A" },
        { key: "b", name: "B" },
      ],
    };
    const mine = commit(openHistory(base, NO_LAYOUT), {
      label: "Rename",
      config: {
        steps: [
          { key: "a", name: "mine" },
          { key: "b", name: "B" },
        ],
      },
    });
    const beside = rebase(mine, {
      steps: [
        { key: "a", name: "mine" },
        { key: "b", name: "theirs" },
      ],
    });
    expect(stepsIn(undo(beside)!.config).map(({ name }) => name)).toEqual(["A", "theirs"]);
    const over = rebase(mine, {
      steps: [
        { key: "a", name: "theirs" },
        { key: "b", name: "B" },
      ],
    });
    expect(undo(over)).toBeNull();
  });
});

describe("commands", () => {
  test("leave no circle, no dangling edge and no duplicate key", () => {
    fc.assert(
      fc.property(
        configs,
        fc.array(fc.tuple(fc.nat(4), fc.nat(7), fc.nat(7)), { maxLength: 8 }),
        (start, commands) => {
          let config = start;
          for (const [kind, one, other] of commands) {
            const keys = keysOf(config);
            const [from, to] = [keys[one % (keys.length || 1)], keys[other % (keys.length || 1)]];
            const fresh = { key: freshKey(stepsIn(config), "n") } as StepValue;
            if (kind === 0) config = addAfter(config, fresh, from ? [from] : []);
            else if (!from || !to) continue;
            else if (kind === 1 && from !== to && !reaches(stepsIn(config), to, from))
              config = connect(config, from, to);
            else if (kind === 2) config = takeOut(config, new Set([from]));
            else if (kind === 3) {
              const link = linksOf(stepsIn(config))[one % linksOf(stepsIn(config)).length]!;
              const source = link.branch === null ? link.source : `${link.source}:${link.branch}`;
              config = insertOn(config, fresh, source, link.target);
            } else if (kind === 4)
              config = addCopies(config, stepsIn(config).slice(0, 1 + (other % 3)), [from]).config;
            if (new Set(keysOf(config)).size !== keysOf(config).length) return false;
          }
          return unsound(stepsIn(config)).size === 0;
        },
      ),
    );
  });

  test("a removed step leaves its neighbors connected", () => {
    fc.assert(
      fc.property(configs, fc.subarray(KEYS), (config, gone) => {
        const keys = new Set(gone);
        const after = stepsIn(takeOut(config, keys));
        const rest = after.map(({ key }) => key);
        for (const from of rest)
          for (const to of rest) expect(reaches(after, from, to)).toBe(reaches(stepsIn(config), from, to));
      }),
    );
  });

  test("name the steps that ran on one branch of a removed step", () => {
    const config = {
      steps: [{ key: "a" }, { key: "b", dependsOn: ["a:big"] }, { key: "c", dependsOn: ["a"] }],
    };
    expect(unguarded(config, new Set(["a"])).map(({ key }) => key)).toEqual(["b"]);
    expect(unguarded(config, new Set(["a", "b"]))).toEqual([]);
  });

  test("a copy keeps its internal edges, and templates are adapted to its keys", () => {
    const config = {
      steps: [
        { key: "a" },
        { key: "b", dependsOn: ["a:big"], definition: { url: "{{steps.a.result.url}}" } },
      ],
    };
    const { config: next, keys } = addCopies(config, stepsIn(config), ["b"]);
    expect(keys).toEqual(["a_2", "b_2"]);
    expect(stepsIn(next).slice(2)).toEqual([
      { key: "a_2", dependsOn: ["b"] },
      { key: "b_2", dependsOn: ["a_2:big"], definition: { url: "{{steps.a_2.result.url}}" } },
    ]);
  });

  test("a single action is the step with that key, and what precedes a step is found", () => {
    expect(inSteps({ action: { kind: "http_request" } })).toEqual({
      steps: [{ key: "action", kind: "http_request" }],
    });
    const steps = [
      { key: "a" },
      { key: "b", dependsOn: ["a:x"] },
      { key: "c" },
      { key: "d", dependsOn: ["b"] },
    ];
    expect([...upTo(steps, "d")].sort()).toEqual(["a", "b", "d"]);
    expect(linksOf(steps).map(({ source, branch, target }) => [source, branch, target])).toEqual([
      [TRIGGER, null, "a"],
      ["a", "x", "b"],
      [TRIGGER, null, "c"],
      ["b", null, "d"],
    ]);
  });

  test("two valid changes are reported if together they make a circle or lose a step", () => {
    const steps = [
      { key: "a", dependsOn: ["b"] },
      { key: "b", dependsOn: ["a"] },
      { key: "c", dependsOn: ["gone"] },
    ];
    expect([...unsound(steps).keys()].sort()).toEqual(["a", "b", "c"]);
  });

  test("steps on circles are found, and no others, whatever depends on what", () => {
    const depends = fc.array(fc.subarray(KEYS, { maxLength: 2 }), { maxLength: KEYS.length });
    fc.assert(
      fc.property(depends, (lists) => {
        const steps = lists.map((dependsOn, at): StepValue => {
          const known = dependsOn.filter((key) => KEYS.indexOf(key) < lists.length);
          return { key: KEYS[at] as string, dependsOn: known };
        });
        const onCircle = steps.flatMap(({ key }) =>
          steps.some(({ key: next, dependsOn = [] }) => dependsOn.includes(key) && reaches(steps, next, key))
            ? [key]
            : [],
        );
        expect([...unsound(steps).keys()].sort()).toEqual(onCircle.sort());
      }),
    );
  });

  test("a group with something in between is found", () => {
    const below = new Map([
      ["a", ["b", "x"]],
      ["b", ["c"]],
    ]);
    expect(between(below, new Set(["a", "c"]))).toBe("b");
    expect(between(below, new Set(["a", "b", "c"]))).toBeNull();
  });
});

describe("the clipboard", () => {
  const steps = [
    { key: "load", kind: "dlt_extract", connectionId: "id-1", definition: { resources: ["orders"] } },
    { key: "sum", dependsOn: ["load", "elsewhere"], when: "steps.load.result.rows > 0" },
  ];

  test("holds steps as YAML that is read back the same, with connections by slug", () => {
    const text = toYaml(steps, (_, id) => (id === "id-1" ? "shop" : null));
    expect(text).toMatch(/connectionId: \$\{connection:shop\}/);
    expect(text).not.toContain("elsewhere");
    expect(fromText(text, (_, slug) => (slug === "shop" ? "id-1" : null))?.steps).toEqual([
      steps[0]!,
      { ...steps[1]!, dependsOn: ["load"] },
    ]);
    expect(fromText(text, () => null)!.unknown).toEqual(["connection shop"]);
  });

  test("accepts JSON and whole configs, and leaves other text alone", () => {
    expect(fromText(JSON.stringify({ config: { steps } }), () => null)?.steps.length).toBe(2);
    for (const text of ["a key to the city", "key: value", "[1, 2]", "{{{ key", ""])
      expect(fromText(text, () => null)).toBeNull();
  });
});

describe("the layout", () => {
  test("puts steps below what they depend on, never over each other", () => {
    fc.assert(
      fc.property(configs, (config) => {
        const steps = stepsIn(config);
        const links = linksOf(steps);
        const sizes = new Map(
          [TRIGGER, ...keysOf(config)].map((key) => [key, { width: WIDTH, height: HEIGHT }]),
        );
        const { boxes } = arrange(sizes, links);
        for (const { source, target } of links)
          expect(boxes.get(target)!.y).toBeGreaterThan(boxes.get(source)!.y);
        const all = [...boxes.values()];
        for (const one of all)
          for (const other of all)
            if (one !== other && one.y === other.y)
              expect(Math.abs(one.x - other.x)).toBeGreaterThanOrEqual(WIDTH);
      }),
    );
  });

  test("from left to right is the same, rotated", () => {
    fc.assert(
      fc.property(configs, (config) => {
        const links = linksOf(stepsIn(config));
        const sizes = (width: number, height: number) =>
          new Map([TRIGGER, ...keysOf(config)].map((key) => [key, { width, height }]));
        const { boxes } = arrange(sizes(WIDTH, HEIGHT), links, true);
        const { boxes: turned } = arrange(sizes(HEIGHT, WIDTH), links);
        for (const [key, { x, y, width }] of boxes) {
          expect(width).toBe(WIDTH);
          expect([x, y]).toEqual([turned.get(key)!.y, turned.get(key)!.x]);
        }
      }),
    );
  });

  test("handles a circle, which only a broken config has", () => {
    const sizes = new Map(["a", "b"].map((key) => [key, { width: WIDTH, height: HEIGHT }]));
    const links = linksOf([
      { key: "a", dependsOn: ["b"] },
      { key: "b", dependsOn: ["a"] },
    ]);
    expect(arrange(sizes, links).boxes.size).toBe(2);
  });
});
