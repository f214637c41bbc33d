import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { startData } from "../data/place.ts";
import { connect } from "./connections.ts";
import { s3Keys, type TestS3 } from "./s3.ts";
import { ACTIONS, created, makeAction, runEnd } from "./work.ts";

type Data = Awaited<ReturnType<typeof startData>>;

/** Creates a file whose path below `place` is in Latin-1, which is not valid UTF-8 for umlauts. */
export function putLatin1(place: string, path: string, content: string): void {
  const at = (below: string) => Buffer.concat([Buffer.from(`${place}/`), Buffer.from(below, "latin1")]);
  if (path.includes("/")) mkdirSync(at(dirname(path)), { recursive: true });
  writeFileSync(at(path), content);
}

let count = 0;
const fresh = () => `sync-${++count}-${crypto.randomUUID().slice(0, 8)}`;

/** A folder of the organization as a connection, with its content on disk. */
export async function folder(data: Data) {
  const root = fresh();
  const { id } = await connect(data.app.owner, {
    name: root,
    provider: "local_files",
    config: { root: `/${root}` },
    credentials: {},
  });
  const place = join(data.app.dataFolder, "files", data.app.ids.organizationId, root);
  mkdirSync(place, { recursive: true });
  return {
    id: id as string,
    place,
    put(path: string, content: string | Uint8Array) {
      mkdirSync(dirname(join(place, path)), { recursive: true });
      writeFileSync(join(place, path), content);
    },
    /** Creates a file whose path is in Latin-1, which is not valid UTF-8. */
    putLatin1: (path: string, content: string) => putLatin1(place, path, content),
    remove: (path: string) => rmSync(join(place, path)),
    removeAll: (path: string) => rmSync(join(place, path), { recursive: true }),
    /** Path and content of everything in it. */
    all(below = ""): Record<string, string> {
      const found = readdirSync(join(place, below), { recursive: true, encoding: "utf8" }).sort();
      const files = found.filter((path) => statSync(join(place, below, path)).isFile());
      return Object.fromEntries(files.map((path) => [path, readFileSync(join(place, below, path), "utf8")]));
    },
  };
}

/** A new bucket as a connection. */
export async function bucket(data: Data, s3: TestS3, config: object = {}) {
  const name = fresh();
  s3.createBucket(name);
  const { id } = await connect(data.app.owner, {
    name,
    provider: "s3",
    config: { bucket: name, endpointUrl: s3.endpointUrl, forcePathStyle: true, ...config },
    credentials: s3Keys,
  });
  return {
    id: id as string,
    name,
    put: (key: string, text: string) => s3.put(name, key.split("/").map(encodeURIComponent).join("/"), text),
    putRaw: (key: string, bytes: string | Uint8Array, headers?: Record<string, string>) =>
      s3.putRaw(name, key, bytes, headers),
    get: (key: string) => s3.get(name, key),
    all: () => s3.all(name),
  };
}

/** A `file_sync` that can run repeatedly. */
export async function sync(data: Data, definition: object) {
  const { owner } = data.app;
  const action = await makeAction(owner, { kind: "file_sync", name: "Sync", definition });
  const start = async (overrides?: object) =>
    created(
      await owner(
        "POST",
        `${ACTIONS}/${action.id}/run`,
        overrides ? { definitionOverrides: overrides } : undefined,
      ),
    );
  const run = async (overrides?: object) => runEnd(owner, (await start(overrides)).id);
  return {
    id: action.id as string,
    start,
    run,
    /** The result of a run that must succeed. */
    async result(overrides?: object) {
      const ended = await run(overrides);
      if (ended.status !== "completed") throw new Error(`${ended.status} ${JSON.stringify(ended.error)}`);
      return ended.result;
    },
  };
}
