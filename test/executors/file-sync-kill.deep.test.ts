import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../support/connections.ts";
import { eventually } from "../support/outbound.ts";
import { startInstallation } from "../support/process.ts";
import { HELD, s3Keys, startS3 } from "../support/s3.ts";
import { ACTIONS, created, makeAction, RUNS, runEnd, until } from "../support/work.ts";

const FILES = 120;

/** Files that the sync doesn't need to copy again. */
function writtenDown(dataFolder: string): number {
  using db = new Database(join(dataFolder, "weir.db"), { readonly: true });
  const { count } = db.query("SELECT count(*) AS count FROM sync_files").get() as { count: number };
  return count;
}

test("killed in the middle, a sync continues, copies no recorded file again, and leaves no partial file", async () => {
  await using s3 = await startS3();
  await using installation = await startInstallation();
  const put = new Map<string, number>();
  const gate = Promise.withResolvers<void>();
  let isOpen = false;
  s3.interfere(({ method, url, headers }) => {
    if (method !== "PUT") return null;
    const key = decodeURIComponent(url.split("/").at(-1) ?? "").split("?")[0] ?? "";
    // The large file never gets past its second part until the process has been killed.
    if (!isOpen && (url.includes("partNumber=2") || put.size >= FILES / 2)) {
      gate.resolve();
      return HELD;
    }
    if ("content-length" in headers && !url.includes("partNumber")) put.set(key, (put.get(key) ?? 0) + 1);
    return null;
  });
  s3.createBucket("from-here");
  s3.createBucket("to-there");
  for (let n = 0; n < FILES; n++) await s3.put("from-here", `file-${n}`, `content ${n}`);
  await s3.putRaw("from-here", "large", Buffer.alloc(9_000_000, 7));

  let server = await installation.serve();
  const { owner } = server;
  const config = { endpointUrl: s3.endpointUrl, forcePathStyle: true };
  const open = async (name: string, credentials: object) =>
    (await connect(owner, { name, provider: "s3", config: { ...config, bucket: name }, credentials })).id;
  const from = await open("from-here", s3Keys);
  // So that the bytes pass through here.
  const to = await open("to-there", { ...s3Keys, sessionToken: "another-account" });
  const definition = { source: { connectionId: from }, destination: { connectionId: to } };
  const action = await makeAction(owner, { kind: "file_sync", definition });
  const run = created(await owner("POST", `${ACTIONS}/${action.id}/run`));
  await gate.promise;
  await eventually(() => writtenDown(installation.dataFolder) === FILES / 2);
  await until(owner, `${RUNS}/${run.id}`, ({ progress }) => progress?.current >= FILES / 4);
  await server.end("SIGKILL");
  const before = new Map(put);
  expect(before.size).toBe(FILES / 2);
  expect(Object.keys(await s3.all("to-there"))).not.toContain("large");

  isOpen = true;
  server = await installation.serve();
  const ended = await runEnd(server.owner, run.id);
  expect(ended).toMatchObject({
    status: "completed",
    interruptCount: 1,
    result: { copied: FILES + 1, skipped: 0, failed: [] },
  });
  const again = [...put].filter(([, times]) => times > 1);
  expect(again.length).toBe(0);
  expect(Object.keys(await s3.all("to-there"))).toHaveLength(FILES + 1);
  expect((await s3.get("to-there", "large")).bytes.length).toBe(9_000_000);
  const second = created(await server.owner("POST", `${ACTIONS}/${action.id}/run`));
  expect((await runEnd(server.owner, second.id)).result).toMatchObject({ copied: 0, skipped: FILES + 1 });
}, 120_000);

test("killed after a mirror deleted what was in the way, it continues and converges", async () => {
  await using s3 = await startS3();
  await using installation = await startInstallation();
  const gate = Promise.withResolvers<void>();
  let isOpen = true;
  s3.interfere(({ method, url }) => {
    if (isOpen || method !== "GET" || url.includes("list-type")) return null;
    gate.resolve();
    return HELD;
  });
  s3.createBucket("from-here");
  await s3.put("from-here", "a", "file");
  await s3.put("from-here", "b/c/d", "d");
  let server = await installation.serve();
  const config = { endpointUrl: s3.endpointUrl, forcePathStyle: true, bucket: "from-here" };
  const from = await connect(server.owner, { name: "S3", provider: "s3", config, credentials: s3Keys });
  const local = { name: "Local", provider: "local_files", config: { root: "/to" }, credentials: {} };
  const to = await connect(server.owner, local);
  const definition = {
    source: { connectionId: from.id },
    destination: { connectionId: to.id },
    mode: "mirror",
  };
  const action = await makeAction(server.owner, { kind: "file_sync", definition });
  const run = async () => created(await server.owner("POST", `${ACTIONS}/${action.id}/run`)).id;
  expect((await runEnd(server.owner, await run())).result).toMatchObject({ copied: 2, failed: [] });
  await s3.remove("from-here", "a");
  await s3.remove("from-here", "b/c/d");
  await s3.put("from-here", "a/x", "x");
  await s3.put("from-here", "b", "file");
  isOpen = false;
  const id = await run();
  await gate.promise;
  await server.end("SIGKILL");
  const files = join(installation.dataFolder, "files");
  const all = () =>
    readdirSync(files, { recursive: true, encoding: "utf8" }).filter((path) => /\/to\//.test(path));
  expect(all().some((path) => /\/(a|d)$/.test(path))).toBe(false);

  isOpen = true;
  server = await installation.serve();
  expect(await runEnd(server.owner, id)).toMatchObject({
    status: "completed",
    interruptCount: 1,
    result: { copied: 2, failed: [] },
  });
  expect(
    all()
      .map((path) => path.replace(/^.*?\/to\//, ""))
      .sort(),
  ).toEqual(["a", "a/x", "b"]);
  expect((await runEnd(server.owner, await run())).result).toMatchObject({
    copied: 0,
    skipped: 2,
    deleted: 0,
    failed: [],
  });
}, 120_000);
