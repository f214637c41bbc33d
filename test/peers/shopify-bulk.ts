import type { IncomingMessage, ServerResponse } from "node:http";

interface BulkOperation {
  id: string;
  type: "QUERY";
  query: string;
  status: string;
  errorCode: string | null;
  objectCount: string;
  rootObjectCount: string;
  fileSize: string | null;
  url: string | null;
  partialDataUrl: string | null;
  createdAt: string;
  completedAt: string | null;
}

type Ran = { refused: string } | { data?: unknown; errors?: readonly { message: string }[] };
type Line = Record<string, unknown>;

/**
 * Bulk operations of a shop, as shopify.dev describes them: a query that takes a while, at most one at once before
 * version 2026-01 and five since, rejected if it has a connection inside a list or a parent without its ID,
 * and a file of lines, whose children name their parent and follow it only if that was requested.
 */
export function openBulk(baseUrl: () => string, run: (query: string) => Promise<Ran> | Ran) {
  const operations: BulkOperation[] = [];
  const files = new Map<string, string[]>();
  const looked = new Map<string, number>();
  const ran = new Map<string, { lines: Promise<Ran>; isGrouped: boolean }>();
  const state = {
    /** Number of polls before an operation ends. */
    looks: 2,
    /** How the next ones end. */
    ending: { status: "COMPLETED", errorCode: null as string | null },
    /** Number of further URLs that have already expired. */
    expired: 0,
    /** Downloads that break off after this many lines, one after the other. */
    cuts: [] as number[],
    /** Downloads that stall after this many lines, one after the other. */
    stalls: [] as number[],
    /** Lines that are missing from the file, although they were counted. */
    lost: 0,
    /** Encoding of its file. */
    encoding: "utf8" as BufferEncoding,
    /** Whether the file is unordered, whatever was requested. */
    isUnruly: false,
    /** Number of another client's operations in progress. */
    others: 0,
  };
  const downloads: IncomingMessage[] = [];

  const bulk = {
    version: "",
    state,
    operations,
    downloads,
    begin(query: string, isGrouped: boolean) {
      const refuse = (message: string) => ({
        bulkOperation: null,
        userErrors: [{ field: ["query"], message }],
      });
      const running = operations.filter(({ status }) => /^(CREATED|RUNNING)$/.test(status));
      const most = bulk.version < "2026-01" ? 1 : 5;
      if (running.length + state.others >= most) {
        const id = running[0]?.id ?? "gid://shopify/BulkOperation/77";
        return refuse(`A bulk query operation for this app and shop is already in progress: ${id}.`);
      }
      if (!/\bedges\b/.test(query)) return refuse("Bulk queries must contain at least one connection.");
      if (/\brefunds\b[\s\S]*refundLineItems/.test(query)) {
        return refuse(
          "Queries that contain a connection field within a list field are not currently supported.",
        );
      }
      if (!/\bnode \{ (.* )?id\b/.test(query)) {
        return refuse("The parent 'node' field for a nested connection must select the 'id' field.");
      }
      const id = `gid://shopify/BulkOperation/${operations.length + 1}`;
      const operation: BulkOperation = {
        ...{ id, type: "QUERY", query, status: "CREATED", errorCode: null, objectCount: "0" },
        ...{ rootObjectCount: "0", fileSize: null, url: null, partialDataUrl: null },
        ...{ createdAt: new Date().toISOString(), completedAt: null },
      };
      ran.set(id, { lines: Promise.resolve(run(query)), isGrouped });
      operations.push(operation);
      return { bulkOperation: operation, userErrors: [] };
    },
    /** Deletes all operations, as after ten days. */
    forget() {
      for (const list of [operations, downloads]) list.length = 0;
      for (const map of [files, looked, ran]) map.clear();
    },
    current: () => operations.at(-1) ?? null,
    /** Returns the operation, after one more poll. */
    async find(id: string): Promise<BulkOperation | null> {
      const operation = operations.find((each) => each.id === id);
      if (!operation) return null;
      const looks = (looked.get(id) ?? 0) + 1;
      looked.set(id, looks);
      if (operation.status === "CREATED") operation.status = "RUNNING";
      if (operation.status === "RUNNING" && looks > state.looks) await end(operation);
      if (operation.url !== null) operation.url = addressOf(id);
      return { ...operation };
    },
    download(request: IncomingMessage, response: ServerResponse) {
      downloads.push(request);
      const [, number, signature] = /^\/bulk\/(\d+)\.jsonl\?signature=(\w+)$/.exec(request.url ?? "") ?? [];
      const lines = files.get(`gid://shopify/BulkOperation/${number}`);
      if (!lines || signature !== "good") {
        return void response.writeHead(403).end("<Error><Code>ExpiredToken</Code></Error>");
      }
      const text = lines.map((line) => `${line}\n`).join("");
      const stall = state.stalls.shift();
      const cut = state.cuts.shift();
      response.writeHead(200, { "content-type": "application/jsonl" });
      if (stall !== undefined) {
        const some = lines.slice(0, stall).map((line) => `${line}\n`);
        return void (some.length > 0 ? response.write(some.join("")) : response.flushHeaders());
      }
      if (cut === undefined) return void response.end(Buffer.from(text, state.encoding));
      const some = lines.slice(0, cut).map((line) => `${line}\n`);
      response.write(`${some.join("")}{"id":"gid://sho`);
      setTimeout(() => response.destroy(), 20);
    },
  };

  const addressOf = (id: string) => {
    const signature = state.expired-- > 0 ? "old" : "good";
    return `${baseUrl()}/bulk/${id.split("/").at(-1)}.jsonl?signature=${signature}`;
  };

  async function end(operation: BulkOperation): Promise<void> {
    const { status, errorCode } = state.ending;
    const { lines, isGrouped } = ran.get(operation.id) ?? { lines: { refused: "" }, isGrouped: false };
    const result = await lines;
    const denied = "refused" in result || (result.errors ?? []).length > 0;
    operation.status = denied ? "FAILED" : status;
    operation.errorCode = denied ? "ACCESS_DENIED" : errorCode;
    operation.completedAt = new Date().toISOString();
    const all = "refused" in result ? [] : linesOf(result.data, isGrouped && !state.isUnruly);
    const roots = all.filter((line) => line.__parentId === undefined).length;
    operation.objectCount = String(all.length);
    operation.rootObjectCount = String(roots);
    const texts = all.slice(0, all.length - state.lost).map((line) => JSON.stringify(line));
    files.set(operation.id, texts);
    if (all.length === 0) return;
    if (operation.status === "COMPLETED") operation.url = "";
    else operation.partialDataUrl = addressOf(operation.id);
  }

  return bulk;
}

/**
 * Returns each object of a connection as a separate line.
 * Without order, children come after all objects that have none.
 */
function linesOf(data: unknown, isGrouped: boolean): Line[] {
  const roots: Line[] = [];
  const below: Line[] = [];
  const take = (connection: unknown, parent: unknown) => {
    for (const { node } of (connection as { edges: { node: Line | null }[] }).edges) {
      if (node === null) continue;
      const own: Line = { ...node };
      const inner: unknown[] = [];
      for (const [name, value] of Object.entries(node)) {
        if (typeof value !== "object" || value === null || !("edges" in value)) continue;
        delete own[name];
        inner.push(value);
      }
      if (parent !== null) own.__parentId = parent;
      (parent === null || isGrouped ? roots : below).push(own);
      for (const each of inner) take(each, node.id);
    }
  };
  for (const connection of Object.values(data ?? {})) take(connection, null);
  return [...roots, ...below];
}
