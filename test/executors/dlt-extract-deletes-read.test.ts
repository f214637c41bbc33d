import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connectFolder, startData } from "../data/place.ts";
import { SECRETS, startJsonApi } from "../peers/json-api.ts";
import { published } from "../support/bundles.ts";
import { connect } from "../support/connections.ts";
import { definitionOf, many, order, SINCE, WAYS } from "../support/json-api.ts";
import { ACTIONS } from "../support/work.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let folder: string;
beforeAll(async () => {
  data = await startData({ hurry: 50 });
  folder = await connectFolder(data.owner);
});
afterAll(() => data[Symbol.asyncDispose]());

const MERGE = { primaryKey: ["id"], writeDisposition: "merge", deletes: "hard" };

let count = 0;
/** A resource of one file, in a dataset of its own. */
async function fileOf(ending: string, resource: object = {}, definition: object = {}) {
  const dataset = `files${++count}`;
  const spec = `${dataset}/*${ending}`;
  const extract = await data.extract(folder, {
    dataset,
    resources: [{ name: "t", spec, ...MERGE, ...resource }],
    ...definition,
  });
  return {
    ...extract,
    write: (content: string, name = "a") => data.upload(folder, `/${dataset}/${name}${ending}`, content),
    ids: async () => (await data.rows(`SELECT id FROM raw.${dataset}__t ORDER BY id`)).map(({ id }) => id),
    rows: (columns: string, table = "t") =>
      data.rows(`SELECT ${columns} FROM raw.${dataset}__${table} ORDER BY ALL`),
  };
}

const jsonOf = (...ids: number[]) =>
  JSON.stringify(ids.map((id) => ({ id, lines: [{ sku: `a${id}`, lots: [id] }] })));

const countsOf = ({ tables }: { tables: { table: string; deleted: number }[] }) =>
  Object.fromEntries(tables.map(({ table, deleted }) => [table, deleted]));

describe("rows that files no longer have", () => {
  test("are deleted with their child rows, and the others stay", async () => {
    const file = await fileOf(".json");
    await file.write(jsonOf(1, 2, 3));
    expect(countsOf(await file.result())).toMatchObject({ t: 0 });
    await file.write(jsonOf(1, 3, 4));
    expect(countsOf(await file.result())).toEqual({ t: 1, t__lines: 1 + 2, t__lines__lots: 1 + 2 });
    expect(await file.ids()).toEqual([1, 3, 4]);
    expect(await file.rows("sku", "t__lines")).toEqual(["a1", "a3", "a4"].map((sku) => ({ sku })));
    expect(await file.rows("value", "t__lines__lots")).toEqual([1, 3, 4].map((value) => ({ value })));
  });

  test("are marked while they are gone, for every strategy", async () => {
    for (const mergeStrategy of ["delete_insert", "upsert", "insert_only"]) {
      const file = await fileOf(".csv", { deletes: "soft", mergeStrategy });
      await file.write("id,n\n1,a\n2,b\n3,c\n");
      await file.result();
      await file.write("id,n\n1,a\n3,d\n");
      const later = await file.result();
      expect(later).toMatchObject({ tables: [{ deleted: 1 }], warnings: [] });
      const marked = "id, _dlt_deleted_at IS NOT NULL AS is_gone";
      expect(await file.rows(marked)).toEqual([
        { id: 1, is_gone: false },
        { id: 2, is_gone: true },
        { id: 3, is_gone: false },
      ]);
      await file.write("id,n\n1,a\n2,b\n3,c\n");
      expect((await file.result()).tables[0]).toMatchObject({ deleted: 0 });
      expect((await file.rows(marked)).filter(({ is_gone }) => is_gone)).toEqual([]);
    }
  });

  test("are deleted from a table that is appended to, by the keys of all files", async () => {
    const file = await fileOf(".jsonl", { writeDisposition: "append" });
    await file.write('{"id":1}\n{"id":2}\n{"id":3}\n');
    await file.write('{"id":4}\n', "b");
    expect((await file.result()).tables[0]).toMatchObject({ rows: 4, deleted: 0 });
    await file.write('{"id":3}\n{"id":2}\n', "b");
    await file.write('{"id":5}\n');
    expect((await file.result()).tables[0]).toMatchObject({ rows: 3, deleted: 2 });
    expect(await file.ids()).toEqual([2, 2, 3, 3, 5]);
  });

  test("are kept, with a failure, if there would be too many, or if the file is empty", async () => {
    for (const [ending, full, few, empty] of [
      [".csv", "id,n\n1,a\n2,b\n3,c\n", "id,n\n1,a\n", ["id,n\n", ""]],
      [".json", jsonOf(1, 2, 3), jsonOf(1), ["[]"]],
      [".jsonl", '{"id":1}\n{"id":2}\n{"id":3}\n', '{"id":1}\n', [""]],
    ] as const) {
      const file = await fileOf(ending);
      await file.write(full);
      await file.result();
      await file.write(few);
      expect(await file.run()).toMatchObject({
        status: "failed",
        error: { code: "too_many_deletes", details: { deleted: 2, rows: 3 } },
      });
      for (const content of empty) {
        await file.write(content);
        const { error } = await file.run({
          resources: [{ ...MERGE, name: "t", spec: `files${count}/*`, maxDelete: 100 }],
        });
        expect(error).toMatchObject({ code: "too_many_deletes" });
        expect(error.message).toStartWith(
          "The source no longer has rows of t, but the table has 3. Nothing was loaded.",
        );
      }
      expect(await file.ids()).toEqual([1, 2, 3]);
    }
  });

  test("are kept, with a failure, if all keys of the source are others", async () => {
    const file = await fileOf(".csv");
    await file.write("id\n1\n2\n3\n");
    await file.result();
    await file.write("id\n11\n12\n13\n14\n15\n16\n");
    expect(await file.run()).toMatchObject({
      status: "failed",
      error: { code: "too_many_deletes", details: { deleted: 3, rows: 3 } },
    });
    expect(await file.ids()).toEqual([1, 2, 3]);
  });

  test("are kept while one of several files has no bytes yet", async () => {
    for (const [ending, content] of [
      [".jsonl", '{"id":1}\n{"id":2}\n'],
      [".csv", "id\n1\n2\n"],
    ] as const) {
      const file = await fileOf(ending);
      await file.write(content);
      await file.write(content.replaceAll("1", "3").replaceAll("2", "4"), "b");
      await file.result();
      await file.write("", "b");
      const result = await file.result();
      expect(result.tables[0]).toMatchObject({ deleted: 0 });
      expect(result.warnings.join()).toContain("has no bytes");
      expect(await file.ids()).toEqual([1, 2, 3, 4]);
    }
  });

  test("of a nested key are kept too if the file is empty", async () => {
    const file = await fileOf(".json", { primaryKey: ["meta.no"] });
    await file.write('[{"meta":{"no":1}},{"meta":{"no":2}}]');
    await file.result();
    await file.write("[]");
    expect((await file.run()).error.message).toStartWith("The source no longer has rows of t");
  });

  test("are not found, and nothing fails, if the first load finds nothing", async () => {
    const file = await fileOf(".json");
    await file.write("[]");
    expect(countsOf(await file.result())).toEqual({ t: 0 });
  });
});

describe("a run that didn't read all rows deletes nothing", () => {
  test("since records were rejected", async () => {
    const file = await fileOf(".csv", { file: { onBadRow: "reject" } });
    await file.write("id,n\n1,a\n2,b\n3,c\n");
    await file.result();
    await file.write("id,n\n1,x\n3,c\n2,b,b,b\n");
    const { tables, warnings } = await file.result();
    expect(tables[0]).toMatchObject({ updated: 2, deleted: 0, rejected: 1 });
    expect(warnings).toContainEqual(
      "t: nothing was deleted, since it isn't known which rows the source no longer has: 1 of its rows was rejected.",
    );
    expect(await file.ids()).toEqual([1, 2, 3]);
  });

  test("since rows have no key, or violate the schema contract", async () => {
    const file = await fileOf(".json", {}, { schemaContract: { dataType: "discard_row" } });
    await file.write('[{"id":1,"n":1},{"id":2,"n":2},{"id":3,"n":3}]');
    await file.result();
    for (const bad of ['{"id":3,"n":"x"}', '{"n":3}']) {
      await file.write(`[{"id":1,"n":1},{"id":2,"n":2},${bad}]`);
      expect((await file.result()).tables[0]).toMatchObject({ deleted: 0, rejected: 1 });
      expect(await file.ids()).toEqual([1, 2, 3]);
    }
  });

  test("since a file may not have been written to its end", async () => {
    const file = await fileOf(".csv");
    await file.write("id\n1\n2\n3\n");
    await file.write("id\n4\n", "b");
    await file.result();
    await file.write("", "b");
    const { tables, warnings } = await file.result();
    expect(tables[0]).toMatchObject({ deleted: 0 });
    expect(warnings).toContainEqual(
      expect.stringContaining("not all keys were read (see the other warnings)"),
    );
    expect(await file.ids()).toEqual([1, 2, 3, 4]);
  });

  test("and ends no version", async () => {
    const file = await fileOf(".csv", {
      deletes: "ignore",
      mergeStrategy: "scd2",
      file: { onBadRow: "reject" },
    });
    await file.write("id,n\n1,a\n2,b\n");
    await file.result();
    await file.write("id,n\n1,x\n2,b,b,b\n");
    const { tables, warnings } = await file.result();
    expect(tables[0]).toMatchObject({ updated: 1, deleted: 0, rejected: 1 });
    expect(warnings).toContainEqual(expect.stringContaining("t: no version was ended for rows"));
    expect(await file.rows("id, n, _dlt_valid_to IS NULL AS is_current")).toEqual([
      { id: 1, n: "a", is_current: false },
      { id: 1, n: "x", is_current: true },
      { id: 2, n: "b", is_current: true },
    ]);
    await file.write("id,n\n1,x\n");
    expect((await file.result()).tables[0]).toMatchObject({ deleted: 1 });
  });

  test("and fails once maxRows is reached", async () => {
    const file = await fileOf(".csv", {}, { maxRows: 3 });
    await file.write("id\n1\n2\n");
    await file.result();
    await file.write("id\n1\n");
    expect((await file.result()).tables[0]).toMatchObject({ deleted: 1 });
    await file.write("id\n2\n3\n4\n5\n");
    expect((await file.run()).error).toEqual(
      expect.objectContaining({
        code: "definition_invalid",
        message:
          "t: maxRows (3) was reached, so it isn't known which rows the source no longer has. Raise or remove maxRows, or set deletes to ignore. Nothing was loaded.",
      }),
    );
    expect(await file.ids()).toEqual([1]);
  });

  test("and is rejected when it is saved with incremental or where", async () => {
    for (const [field, value] of Object.entries({ incremental: { cursorField: "id" }, where: "id > 1" })) {
      const answer = await data.owner("POST", ACTIONS, {
        kind: "dlt_extract",
        name: field,
        connectionId: folder,
        definition: { dataset: "x", resources: [{ ...MERGE, name: "t", spec: "t.csv", [field]: value }] },
      });
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toEqual([
        expect.objectContaining({
          loc: ["body", "definition", "resources", "0", "deletes"],
          msg: `deletes compares all keys of the source, and with ${field} the run doesn't read all rows. Remove ${field}, or set deletes to ignore.`,
        }),
      ]);
    }
  });
});

describe("rows that an HTTP API no longer has", () => {
  async function api(resources: object[] = []) {
    const peer = await startJsonApi();
    const slug = `shop${++count}`;
    const { http, ...plain } = definitionOf("bearer");
    const body = {
      slug,
      displayName: "A shop",
      templateType: "connection",
      definition: { ...plain, http: { ...http, ...(resources.length > 0 && { resources }) } },
    };
    await published(data.owner, body);
    const { id } = await connect(data.owner, {
      name: slug,
      templateSlug: slug,
      config: { baseUrl: peer.baseUrl },
      credentials: { token: SECRETS.token },
    });
    return {
      peer,
      ids: async () =>
        (await data.rows(`SELECT id FROM raw.${slug}__orders ORDER BY id`)).map((row) => row.id),
      extract: (resource: object) =>
        data.extract(id as string, { dataset: slug, resources: [{ name: "orders", ...MERGE, ...resource }] }),
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  }

  test("are deleted after all pages were read", async () => {
    await using shop = await api();
    const { peer } = shop;
    peer.orders.push(...many(45, order));
    const extract = await shop.extract({ spec: "/linked", endpoint: WAYS["/linked"] });
    await extract.result();
    peer.orders.splice(40, 2);
    expect(countsOf(await extract.result())).toEqual({ orders: 2, orders__lines: 45 });
    expect(await shop.ids()).toEqual(many(45, (n) => n).filter((n) => n !== 41 && n !== 42));
    peer.orders.length = 0;
    expect((await extract.run()).error).toMatchObject({ code: "too_many_deletes" });
  });

  test("are kept if there may be more pages", async () => {
    await using shop = await api();
    const { peer } = shop;
    peer.orders.push(...many(45, order));
    await (await shop.extract({ spec: "/linked", endpoint: WAYS["/linked"] })).result();
    const unpaged = await shop.extract({ spec: "/linked", endpoint: {} });
    const { tables, warnings } = await unpaged.result();
    expect(tables[0]).toMatchObject({ deleted: 0 });
    expect(warnings).toContainEqual(expect.stringContaining("orders: nothing was deleted"));
    const way = WAYS["/cursors"];
    const paginator = { ...way?.paginator, cursorPath: "misspelled" };
    const astray = await (await shop.extract({ spec: "/cursors", endpoint: { ...way, paginator } })).result();
    expect(astray.tables[0]).toMatchObject({ deleted: 0 });
    expect(astray.warnings).toContainEqual(expect.stringContaining("seems to name a next page"));
  });

  test("are found by a resource of the connection that has a cursor, without it", async () => {
    const found = {
      name: "orders",
      title: "Orders",
      spec: "/cursors",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at" },
      endpoint: { ...WAYS["/cursors"], incremental: SINCE },
    };
    await using shop = await api([found]);
    const { peer } = shop;
    peer.orders.push(...many(5, order));
    const extract = await shop.extract({});
    await extract.result();
    peer.orders.splice(0, 1);
    expect(await extract.result()).toMatchObject({
      warnings: [],
      tables: [{ deleted: 1, cursor: null }, {}],
    });
    expect(await shop.ids()).toEqual([2, 3, 4, 5]);
  });
});
