import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { startApp } from "../support/app.ts";
import { openTerminal } from "./terminal.ts";

let app: Awaited<ReturnType<typeof startApp>>;
let shell: ReturnType<typeof openTerminal>;
let folder: string;

beforeAll(async () => {
  app = await startApp({ engine: false });
  shell = openTerminal(app.origin, app.token);
  folder = mkdtempSync(join(tmpdir(), "weir-datasets-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  shell[Symbol.dispose]();
  await app[Symbol.asyncDispose]();
});

const datasets = (...args: string[]) => shell.run("datasets", ...args);

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test("a file is uploaded, listed, previewed, and downloaded", async () => {
  const up = await datasets("upload", "raw.shop", file("shop.csv", "id,name\n1,Ada\n2,Grace\n"));
  expect(up).toMatchObject({
    code: 0,
    out: "Table shop of raw.shop: 2 rows uploaded.\n",
    err: "",
  });
  const packed = file("more.jsonl.gz", gzipSync('{"id":3,"name":"Alan"}\n'));
  expect((await datasets("upload", "raw.shop", packed, "--append", "--json")).json).toMatchObject({
    ...{ table: "shop", rows: 1 },
  });
  const people = { stdin: "7;Kurt\n" };
  const words = ["upload", "raw.shop", "-", "--format", "csv", "--table", "people", "--no-header"];
  expect((await shell.sit(people, "datasets", ...words)).out).toStartWith(
    "Table people of raw.shop: 1 row uploaded.",
  );

  const list = await datasets("list", "--json", "--layer", "raw", "--q", "sho");
  expect(list.out).toBe(`${(await app.owner("GET", "/api/v1/datasets?layer=raw&q=sho")).text}\n`);
  expect((await datasets("list")).out).toMatch(/^DATASET .+\nraw\.shop +4 +\S+ \w+ +\S+Z +people, shop\n$/);
  expect((await datasets("preview", "raw.shop", "--limit", "2")).out).toMatch(
    /^id {2}name .*\n1 {3}Ada .*\n2 {3}Grace .*\n$/,
  );
  expect((await datasets("preview", "raw.shop", "--table", "people", "--json")).json.rows.length).toBe(1);

  const out = join(folder, "out.csv");
  const down = await datasets("download", "raw.shop", "-o", out, "--json");
  expect(down.json).toEqual({ output: out, bytes: readFileSync(out).length });
  expect(readFileSync(out, "utf8")).toMatch(/^id,name,.*\n1,Ada,.*\n2,Grace,.*\n3,Alan,.*\n$/);
  expect((await datasets("upload", "raw.copy", out)).out).toBe("Table copy of raw.copy: 3 rows uploaded.\n");
  const lines = await datasets("download", "raw.shop", "-o", "-", "--format", "jsonl");
  expect(lines.out.split("\n")[0]).toStartWith('{"id":1,"name":"Ada",');
  const again = await datasets("download", "raw.shop", "-o", out);
  expect([again.code, again.err]).toEqual([1, `weir: ${out} already exists. Choose another filename.\n`]);
});

test("uploading a file shows its progress, only on a terminal", async () => {
  const path = file("numbers.csv", `n\n${"1234567\n".repeat(200_000)}`);
  const up = shell.start("datasets", ["upload", "raw.numbers", path], { width: 80 });
  expect((await up.ended).code).toBe(0);
  expect(up.state.told[0]).toBe(`Uploading [${"-".repeat(20)}] 0%  0 bytes of 1.5 MiB`);
  expect(up.state.cleared).toBeGreaterThan(0);
  const down = shell.start("datasets", ["download", "raw.numbers", "-o", join(folder, "numbers.parquet")], {
    width: 80,
  });
  expect((await down.ended).code).toBe(0);
  expect(down.state.told[0]).toBe("Downloading…");
  expect(readFileSync(join(folder, "numbers.parquet")).subarray(0, 4).toString()).toBe("PAR1");
});

test("what can't be loaded or found is reported, and leaves nothing", async () => {
  const broken = await datasets("upload", "raw.broken", file("broken.json", '[{"a":1'));
  expect([broken.code, broken.out]).toEqual([1, ""]);
  expect((await datasets("list", "--q", "broken", "--json")).json.total).toBe(0);
  expect(await datasets("upload", "raw.broken", join(folder, "nothing.csv"))).toMatchObject({
    code: 1,
    err: `weir: File ${join(folder, "nothing.csv")} not found.\n`,
  });
  const out = join(folder, "none.csv");
  expect(await datasets("download", "raw.nothing", "-o", out)).toMatchObject({
    code: 1,
    err: "weir: Dataset raw.nothing not found.\n",
  });
  expect(existsSync(out) || existsSync(`${out}.part`)).toBe(false);
});

test("a dataset is deleted after confirmation", async () => {
  await datasets("upload", "raw.gone", file("gone.csv", "id\n1\n"));
  const asked = shell.start("datasets", ["delete", "raw.gone"], { answer: "" });
  expect((await asked.ended).code).toBe(1);
  expect(asked.state.asked).toEqual(["Delete raw.gone (1 table, 1 row)? This can't be undone. [y/N] "]);
  expect((await datasets("list", "--q", "gone", "--json")).json.total).toBe(1);
  const deleted = await shell.sit({ answer: "y" }, "datasets", "delete", "raw.gone");
  expect(deleted).toMatchObject({ code: 0, out: "Dataset raw.gone deleted.\n" });
  expect((await datasets("list", "--q", "gone", "--json")).json.total).toBe(0);
  await datasets("upload", "raw.gone", join(folder, "gone.csv"));
  expect((await datasets("delete", "raw.gone", "--yes")).code).toBe(0);
});
