import { expect, test } from "bun:test";
import { failure, folderOf, openWorld, type World } from "./extract/world.ts";

const load = (world: World, rows: string, more = {}) =>
  world.run(
    { resources: [{ name: "t", spec: "a.jsonl", writeDisposition: "append", ...more }] },
    folderOf(world, { "a.jsonl": rows }),
  );

test("a field keeps its column in later loads, in any order and alone", async () => {
  await using world = openWorld();
  await load(world, '{"id":1,"aB":1,"a_b":2,"A.B":3,"x":"l","X":"u"}\n');
  await load(world, '{"id":3,"X":"u3","x":"l3","A.B":333,"a_b":222,"aB":111}\n');
  await load(world, '{"id":4,"X":"u4"}\n{"id":5,"A.B":3}\n');
  expect(await world.query("SELECT id, a_b_2, a_b, a_b_3, x, x_2 FROM raw.shop__t ORDER BY id")).toEqual([
    { id: 1, a_b_2: 1, a_b: 2, a_b_3: 3, x: "l", x_2: "u" },
    { id: 3, a_b_2: 111, a_b: 222, a_b_3: 333, x: "l3", x_2: "u3" },
    { id: 4, a_b_2: null, a_b: null, a_b_3: null, x: null, x_2: "u4" },
    { id: 5, a_b_2: null, a_b: null, a_b_3: 3, x: null, x_2: null },
  ]);
});

test("columns of a file keep theirs, also if only their case differs", async () => {
  await using world = openWorld();
  const csv = async (text: string) =>
    world.run(
      { resources: [{ name: "t", spec: "a.csv", writeDisposition: "append" }] },
      folderOf(world, { "a.csv": text }),
    );
  await csv("ID,id,Id\n1,2,3\n");
  await csv("Id,id,ID\n3,2,1\n");
  await csv("Id\n3\n");
  expect(await world.query("SELECT id, id_2, id_3 FROM raw.shop__t ORDER BY id, id_2")).toEqual([
    { id: 1, id_2: 2, id_3: 3 },
    { id: 1, id_2: 2, id_3: 3 },
    { id: null, id_2: null, id_3: 3 },
  ]);
});

test("fields in objects and lists keep their columns and tables", async () => {
  await using world = openWorld();
  await load(world, '{"id":1,"Box":{"N":1,"n":2},"BOX":{"n":3},"Rows":[{"K":1,"k":2}],"ROWS":[9]}\n');
  await load(world, '{"id":2,"ROWS":[8],"BOX":{"n":4},"Rows":[{"K":3}],"Box":{"n":6,"N":5}}\n');
  await load(world, '{"id":3,"ROWS":[7]}\n');
  expect(await world.query("SELECT id, box__n_2, box__n, box_2__n FROM raw.shop__t ORDER BY id")).toEqual([
    { id: 1, box__n_2: 1, box__n: 2, box_2__n: 3 },
    { id: 2, box__n_2: 5, box__n: 6, box_2__n: 4 },
    { id: 3, box__n_2: null, box__n: null, box_2__n: null },
  ]);
  expect(await world.query("SELECT k_2, k FROM raw.shop__t__rows ORDER BY k_2")).toEqual([
    { k_2: 1, k: 2 },
    { k_2: 3, k: null },
  ]);
  expect(await world.query("SELECT value FROM raw.shop__t__rows_2 ORDER BY value")).toEqual([
    { value: 7 },
    { value: 8 },
    { value: 9 },
  ]);
});

test("a field with a dot in its name and a field in an object keep separate columns", async () => {
  await using world = openWorld();
  await load(world, '{"id":1,"a.b":"own","a":{"b":"inner"},"l.m":[1],"l":{"m":[2]}}\n{"id":2,"a.b":"own"}\n');
  await load(
    world,
    '{"id":3,"l":{"m":[4]},"l.m":[3],"a":{"b":"inner"},"a.b":"own"}\n{"id":4,"a":{"b":"x"}}\n',
  );
  await load(world, '{"id":5,"a":{"b":"inner"}}\n{"id":6,"a.b":"own"}\n');
  expect(await world.query("SELECT id, a_b, a__b FROM raw.shop__t ORDER BY id")).toEqual([
    { id: 1, a_b: "own", a__b: "inner" },
    { id: 2, a_b: "own", a__b: null },
    { id: 3, a_b: "own", a__b: "inner" },
    { id: 4, a_b: null, a__b: "x" },
    { id: 5, a_b: null, a__b: "inner" },
    { id: 6, a_b: "own", a__b: null },
  ]);
  expect(await world.query("SELECT value FROM raw.shop__t__l_m ORDER BY 1")).toEqual([
    { value: 1 },
    { value: 3 },
  ]);
  expect(await world.query("SELECT value FROM raw.shop__t__l__m ORDER BY 1")).toEqual([
    { value: 2 },
    { value: 4 },
  ]);
  const merge = { writeDisposition: "merge", primaryKey: ["a.b"] };
  await using other = openWorld();
  await load(other, '{"a":{"b":1},"a.b":1,"n":1}\n{"a":{"b":1},"a.b":2,"n":2}\n', merge);
  await load(other, '{"a.b":2,"a":{"b":1},"n":3}\n', merge);
  expect(await other.query("SELECT a_b, a__b, n FROM raw.shop__t ORDER BY n")).toEqual([
    { a_b: 1, a__b: 1, n: 1 },
    { a_b: 2, a__b: 1, n: 3 },
  ]);
});

test("a field that is spelled differently keeps its column, unless both spellings are there", async () => {
  await using world = openWorld();
  await load(world, '{"id":1,"orderId":1}\n');
  await load(world, '{"id":2,"Order_ID":2}\n');
  await load(world, '{"id":3,"Order_ID":30,"orderId":3}\n');
  expect(await world.query("SELECT order_id, order_id_2 FROM raw.shop__t ORDER BY id")).toEqual([
    { order_id: 1, order_id_2: null },
    { order_id: 2, order_id_2: null },
    { order_id: 3, order_id_2: 30 },
  ]);
  await using other = openWorld();
  await load(other, '{"id":1,"orderId":1}\n');
  const { code, message } = await failure(load(other, '{"id":2,"ORDER_ID":2}\n{"id":3,"orderId":3}\n'));
  expect(code).toBe("schema_contract_violation");
  expect(message).toContain('Column order_id of t holds "orderId"');
});

test("a table of an older version keeps its columns, and says which of them are unsure", async () => {
  await using world = openWorld();
  await load(world, '{"id":1,"x":"l","X":"u","Address":1,"Address 2":2}\n');
  const [table] = world.tables;
  for (const column of table?.columns ?? []) delete column.source;
  const { result } = await load(world, '{"id":2,"X":"?","Address":3,"Address 2":4}\n');
  expect(result.warnings).toEqual([
    '"X" of t is written to x. Earlier loads may have written it to x_2, which this load doesn\'t have.',
    expect.stringContaining("append without a cursor"),
  ]);
  await load(world, '{"id":3,"x":"l","X":"u"}\n');
  expect(await world.query("SELECT x, x_2, address, address_2 FROM raw.shop__t ORDER BY id")).toEqual([
    { x: "l", x_2: "u", address: 1, address_2: 2 },
    { x: "?", x_2: null, address: 3, address_2: 4 },
    { x: "l", x_2: "u", address: null, address_2: null },
  ]);
});
