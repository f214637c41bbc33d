import { createReadStream } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { and, asc, eq, gt, isNull } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { codeOf } from "../../base/disk.ts";
import { AppError } from "../../base/errors.ts";
import { readEntries } from "../../base/folder-entries.ts";
import type { Json } from "../../base/json.ts";
import { tarEnd, tarHeader, tarPadding } from "../../base/tar.ts";
import { type Context, write } from "../../context.ts";
import { PARTS_FOLDER } from "../../providers/files/paths.ts";
import { version } from "../../version.ts";
import { artifacts } from "../artifacts/table.ts";
import { lakeFiles, lakeTables } from "../datasets/table.ts";
import { record } from "../events/service.ts";
import { findCurrentOrganization } from "../organizations/service.ts";
import { listTeam } from "../organizations/team.ts";
import { toOrganization, toTeamMember } from "../organizations/wire.ts";
import { LEFT_OUT, NOUNS } from "./nouns.ts";
import { linesOf, partLinesOf } from "./rows.ts";

/** Maximum size of a file of lines. Longer ones continue in another file. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const PAGE = 100;

interface Listed {
  path: string;
  bytes: number;
  sha256: string;
  /** Number of rows, for a file of lines. */
  rows?: number;
}

type Chunks = AsyncGenerator<Uint8Array, void>;

/**
 * Streams all data of the context's organization as a tar archive whose last file is `manifest.json`. It is read while
 * it is sent: what changes in the meantime can be included in its old or new state. Throws `rate_limited`.
 */
export async function exportOrganization(ctx: Context): Promise<Chunks> {
  const { retryAfterSeconds } = ctx.limiter.take(`export:${ctx.organizationId}`, RATE);
  if (retryAfterSeconds > 0) {
    throw new AppError("rate_limited", `Too many exports. Try again in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
    });
  }
  const entity = { type: "organization", id: ctx.organizationId } as const;
  await write(ctx, (tx) => record(tx, "organization.exported", entity));
  return archiveOf(ctx);
}

/** An archive can be large. */
const RATE = { perMinute: 1, burst: 5 };

async function* archiveOf(ctx: Context): Chunks {
  const at = timestamp(ctx.clock);
  const files: Listed[] = [];
  const leftOut: { what: string; why: string }[] = [
    { what: "credentials and secrets", why: "Encrypted, hashed or masked: not included in archives." },
    { what: "chats of others", why: "Private: each person exports their own." },
    {
      what: "what templates of automation runs saw",
      why: "Payloads as senders sent them, secrets included.",
    },
    ...Object.entries(LEFT_OUT).map(([what, why]) => ({ what, why })),
  ];
  const skip = (what: string, why: string) => void leftOut.push({ what, why });
  const modified = new Date(at);

  async function* add(path: string, bytes: number, chunks: AsyncIterable<Uint8Array>, rows?: number): Chunks {
    const hash = new Bun.CryptoHasher("sha256");
    let sent = 0;
    yield tarHeader(path, bytes, modified);
    for await (const chunk of chunks) {
      hash.update(chunk);
      sent += chunk.length;
      yield chunk;
      await yieldSlice();
    }
    if (sent !== bytes) throw new AppError("unavailable", `${path} changed while it was read.`);
    yield tarPadding(bytes);
    files.push({ path, bytes, sha256: hash.digest("hex"), ...(rows === undefined ? {} : { rows }) });
  }

  async function* addLines(name: string, pages: AsyncIterable<readonly string[]>): Chunks {
    let [part, lines, length]: [number, string[], number] = [1, [], 0];
    const flush = () => {
      const bytes = Buffer.concat(lines.map((line) => Buffer.from(`${line}\n`)));
      const path = part === 1 ? `${name}.jsonl` : `${name}-${String(part).padStart(4, "0")}.jsonl`;
      const added = add(path, bytes.length, piecesOf(bytes), lines.length);
      [part, lines, length] = [part + 1, [], 0];
      return added;
    };
    for await (const page of pages) {
      for (const line of page) {
        lines.push(line);
        length += line.length;
        if (length >= MAX_FILE_BYTES) yield* flush();
      }
      await yieldSlice();
    }
    if (lines.length > 0 || part === 1) yield* flush();
  }

  const organization = await findCurrentOrganization(ctx);
  const facts = { ...toOrganization(organization), quotas: organization.quotas };
  yield* addLines("organization", one([JSON.stringify(facts)]));
  const team = await listTeam(ctx);
  yield* addLines("members", one(team.map((member) => JSON.stringify(toTeamMember(member, ctx.actor.id)))));
  for (const noun of NOUNS) {
    yield* addLines(noun.name, linesOf(ctx, noun, skip));
    for (const part of noun.parts ?? []) yield* addLines(part.name, partLinesOf(ctx, noun, part));
  }
  for await (const { path, file, bytes } of lakeOf(ctx)) yield* add(path, bytes, readFile(file));
  yield* artifactsOf(ctx, add, skip);
  yield* filesOf(join(ctx.filesFolder, ctx.organizationId), "files", add, skip);
  const { id, name, slug } = organization;
  const manifest: Json = {
    format: 1,
    weir: version,
    exportedAt: at,
    organization: { id, name, slug },
    files: files.map((file) => ({ ...file })),
    leftOut,
  };
  const bytes = new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
  yield* add("manifest.json", bytes.length, one(bytes));
  yield tarEnd();
}

type Add = (path: string, bytes: number, chunks: AsyncIterable<Uint8Array>) => Chunks;
type Skip = (what: string, why: string) => void;

async function* one<T>(value: T): AsyncGenerator<T, void> {
  yield value;
}

/** Otherwise, buffered chunks would block other work. */
const yieldSlice = () => new Promise((resolve) => setImmediate(resolve));

async function* piecesOf(bytes: Uint8Array): Chunks {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

const readFile = (file: string): AsyncIterable<Uint8Array> =>
  createReadStream(file, { highWaterMark: CHUNK_BYTES });

/** The files of each table, all as of the same time. */
async function* lakeOf(ctx: Context): AsyncGenerator<{ path: string; file: string; bytes: number }> {
  const tables = await ctx.db
    .select({ layer: lakeTables.layer, dataset: lakeTables.dataset, table: lakeTables.tableName })
    .from(lakeTables)
    .where(eq(lakeTables.organizationId, ctx.organizationId));
  for (const { layer, dataset, table } of tables) {
    const files = await ctx.db
      .select({ path: lakeFiles.path })
      .from(lakeFiles)
      .where(
        and(
          eq(lakeFiles.organizationId, ctx.organizationId),
          eq(lakeFiles.layer, layer),
          eq(lakeFiles.dataset, dataset),
          eq(lakeFiles.tableName, table),
          isNull(lakeFiles.removedAt),
        ),
      )
      .orderBy(asc(lakeFiles.id));
    for (const { path } of files) {
      let release = () => {};
      const file = await ctx.lake.localPath({ path }, (undo) => {
        release = undo;
      });
      try {
        const { size } = await lstat(file);
        yield { path: `lake/${layer}/${dataset}/${table}/${basename(path)}`, file, bytes: size };
      } finally {
        release();
      }
    }
  }
}

/** Content of artifacts that isn't in their rows. */
async function* artifactsOf(ctx: Context, add: Add, skip: Skip): Chunks {
  for (let after = ""; ; ) {
    const rows = await ctx.db
      .select({ id: artifacts.id, path: artifacts.path, privateTo: artifacts.privateTo })
      .from(artifacts)
      .where(and(eq(artifacts.organizationId, ctx.organizationId), gt(artifacts.id, after)))
      .orderBy(asc(artifacts.id))
      .limit(PAGE);
    for (const { id, path, privateTo } of rows) {
      if (path === null || (privateTo !== null && privateTo !== ctx.actor.id)) continue;
      const content = await ctx.artifacts.open(path);
      if (content === null) skip(`artifact ${id}`, "Its file is no longer there.");
      else yield* add(`artifacts/${basename(path)}`, content.size, content.stream());
    }
    after = rows.at(-1)?.id ?? "";
    if (rows.length < PAGE) return;
  }
}

/** Adds the folder of `local_files`. Symbolic links are left out, since they can point outside. */
async function* filesOf(folder: string, as: string, add: Add, skip: Skip): Chunks {
  const entries = await readEntries(folder).catch(unlessUnreadable);
  if (entries === "denied") return skip(as, "Weir has no permission to read it.");
  if (entries === "gone") return; // none has been written, or it was deleted in the meantime
  for (const { name: own, kind, isMisnamed } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const [path, name] = [join(folder, own), `${as}/${own}`];
    if (own === PARTS_FOLDER) continue;
    if (isMisnamed) skip(name, "Its name is not valid UTF-8. Rename it.");
    else if (kind === "folder") yield* filesOf(path, name, add, skip);
    else if (kind !== "file") skip(name, "Neither a file nor a folder.");
    else yield* addFile(path, name, add, skip);
  }
}

/** A file that is replaced in the meantime is read in its old state. */
async function* addFile(path: string, name: string, add: Add, skip: Skip): Chunks {
  const opened = await open(path, "r").catch(unlessUnreadable);
  if (opened === "denied") return skip(name, "Weir has no permission to read it.");
  if (opened === "gone") return skip(name, "It was deleted during the export.");
  await using file = opened;
  const { size } = await file.stat();
  const chunks =
    size === 0
      ? none()
      : file.createReadStream({ highWaterMark: CHUNK_BYTES, end: size - 1, autoClose: false });
  yield* add(name, size, chunks);
}

function unlessUnreadable(error: unknown): "gone" | "denied" {
  const code = codeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") return "gone";
  if (code === "EACCES" || code === "EPERM") return "denied";
  throw error;
}

async function* none(): Chunks {}
