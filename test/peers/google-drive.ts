import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface DriveEntry {
  id: string;
  name: string;
  mimeType: string;
  parents?: string[];
  /** Bytes of a file. For a Google document, its exports by MIME type. */
  content?: string | Uint8Array;
  exports?: Record<string, string | Uint8Array>;
  createdTime?: string;
  modifiedTime?: string;
  trashed?: boolean;
  /** The shared drive that contains it. */
  driveId?: string;
  shared?: boolean;
  shortcutDetails?: { targetId: string; targetMimeType: string };
}

export interface DriveAsked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
}

/** What is sent instead of a response; `cut` closes the connection in the middle of the response. */
type Instead =
  | { status: number; reason?: string; message?: string; body?: string; headers?: Record<string, string> }
  | "cut"
  | null;

const NATIVE = "application/vnd.google-apps.";
export const FOLDER = `${NATIVE}folder`;
const EMAIL = "reader@project.iam.gserviceaccount.com";
const READ_SCOPE = "https://www.googleapis.com/auth/drive.readonly";
const WRITE_SCOPE = "https://www.googleapis.com/auth/drive";

export const driveUser = {
  clientId: "id.apps.googleusercontent.com",
  clientSecret: "GOCSPX-very-secret",
  refreshToken: "1//refresh",
};

/**
 * Google Drive's API v3 with its token endpoint over a real socket, written from developers.google.com:
 * searches, page tokens that are only valid for their search, shared drives that must be requested,
 * exports with their limit, and errors with Google's reasons. `await using` ends it.
 */
export async function startDrive() {
  const keys = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const entries = new Map<string, DriveEntry>([
    ["root", { id: "my-drive", name: "My Drive", mimeType: FOLDER }],
  ]);
  const asked: DriveAsked[] = [];
  const tokens = new Set<string>();
  const codes = new Map<string, URLSearchParams>();
  const uploads = new Map<
    string,
    { id: string | null; metadata: Record<string, unknown>; received: Buffer }
  >();
  const state = {
    pageLimit: 1_000,
    scope: READ_SCOPE,
    /** Whether the user revoked the app's access. */
    isRevoked: false,
    maxExportBytes: 10 * 1024 * 1024,
    issued: 0,
    /** Number of upload parts that are stored but answered with 503. */
    failsParts: 0,
    /** Milliseconds before a token is issued. */
    tokenDelayMs: 0,
    /** Page tokens of changes issued before this one are no longer valid. */
    firstToken: 0,
    instead: (_asked: DriveAsked): Instead => null,
  };
  /** IDs of what changed or was removed, oldest first. A token is a position in it. */
  const changes: { id: string; driveId: string | null }[] = [];

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? "/", "http://peer");
    const seen = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
    };
    asked.push(seen);
    const instead = state.instead(seen);
    if (instead === "cut") {
      response.writeHead(200, { "content-type": "application/octet-stream", "content-length": "1000000" });
      response.write("id,name\n1,a\n");
      return void setTimeout(() => response.destroy(), 20);
    }
    if (instead) {
      const text = instead.body ?? fault(instead.status, instead.reason ?? "", instead.message ?? "No.");
      return void response
        .writeHead(instead.status, { "content-type": "application/json", ...instead.headers })
        .end(text);
    }
    if (url.pathname === "/authorize") {
      const allow = `${url.pathname}/allow${url.search}`;
      const page = `<!doctype html><title>Google</title><a href="${allow.replaceAll("&", "&amp;")}">Allow</a>`;
      return void response.writeHead(200, { "content-type": "text/html" }).end(page);
    }
    if (url.pathname === "/authorize/allow")
      return void response.writeHead(302, { location: allowed(url.searchParams) }).end();
    if (url.pathname === "/token") {
      await Bun.sleep(state.tokenDelayMs);
      return send(response, await issue(new URLSearchParams(Buffer.concat(chunks).toString())));
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (!token || !tokens.has(token)) {
      return send(response, [401, fault(401, "authError", "Invalid Credentials")]);
    }
    const body = Buffer.concat(chunks);
    const [, uploaded = ""] = /^\/upload\/drive\/v3\/files(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    if (request.method === "PUT") return receive(request, response, url, body);
    if (request.method !== "GET" && scopeIsReadOnly()) {
      return send(response, [403, fault(403, "insufficientPermissions", "Insufficient Permission")]);
    }
    if (url.pathname.startsWith("/upload/")) {
      const session = crypto.randomUUID();
      uploads.set(session, {
        id: uploaded || null,
        metadata: JSON.parse(body.toString()),
        received: Buffer.alloc(0),
      });
      const location = `${baseUrl}/upload/drive/v3/files?uploadType=resumable&upload_id=${session}`;
      return void response.writeHead(200, { location }).end();
    }
    if (request.method === "POST" || request.method === "PATCH")
      return send(response, change(request.method, url, JSON.parse(body.toString())));
    send(response, serve(url));
  }

  const scopeIsReadOnly = () => state.scope.endsWith(".readonly");

  /** Creates a folder, or moves a file to the trash. */
  function change(method: string, url: URL, body: Record<string, unknown>): [number, string] {
    const id = /^\/drive\/v3\/files\/([^/]+)$/.exec(url.pathname)?.[1];
    if (method === "POST") return [200, JSON.stringify(shown(create(body), "id,name,mimeType,parents"))];
    const entry = id ? find(decodeURIComponent(id)) : undefined;
    if (!entry) return [404, fault(404, "notFound", `File not found: ${id}.`)];
    if (body.trashed === true) entry.trashed = true;
    changes.push({ id: entry.id, driveId: entry.driveId ?? null });
    return [200, JSON.stringify({ id: entry.id })];
  }

  function create(metadata: Record<string, unknown>): DriveEntry {
    const id = `made-${entries.size}-${changes.length}`;
    const at = new Date().toISOString();
    const parents = (metadata.parents as string[]).map((each) => (each === "root" ? "my-drive" : each));
    const entry = {
      mimeType: "text/csv",
      ...metadata,
      parents,
      id,
      createdTime: at,
      modifiedTime: at,
    } as DriveEntry;
    entries.set(id, entry);
    changes.push({ id, driveId: null });
    return entry;
  }

  /** Receives a part of a resumable upload: 308 until the last one has arrived. */
  function receive(request: IncomingMessage, response: ServerResponse, url: URL, body: Buffer): void {
    const upload = uploads.get(url.searchParams.get("upload_id") ?? "");
    if (!upload) return send(response, [404, fault(404, "notFound", "No such upload.")]);
    const range = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(request.headers["content-range"] ?? "");
    if (!range) return send(response, [400, fault(400, "badRequest", "No range.")]);
    const [, from, , total = "*"] = range;
    if (from !== undefined && Number(from) === upload.received.length)
      upload.received = Buffer.concat([upload.received, body]);
    if (state.failsParts-- > 0) return send(response, [503, fault(503, "backendError", "Again.")]);
    if (total !== String(upload.received.length)) {
      const range: Record<string, string> =
        upload.received.length > 0 ? { range: `bytes=0-${upload.received.length - 1}` } : {};
      return void response.writeHead(308, range).end();
    }
    const entry = (upload.id ? find(upload.id) : undefined) ?? create(upload.metadata);
    entry.content = new Uint8Array(upload.received);
    entry.modifiedTime = new Date().toISOString();
    changes.push({ id: entry.id, driveId: null });
    const fields = "id,name,mimeType,size,md5Checksum,createdTime,modifiedTime,parents,trashed";
    send(response, [200, JSON.stringify(shown(entry, fields))]);
  }

  /** Where the user returns to; `iss` identifies Google. */
  function allowed(query: URLSearchParams): string {
    const code = `4/${crypto.randomUUID()}`;
    codes.set(code, query);
    const back = new URL(query.get("redirect_uri") ?? "");
    back.search = new URLSearchParams({ state: query.get("state") ?? "", code, iss: baseUrl }).toString();
    return back.href;
  }

  /** Exchanges a code for tokens. A refresh token is only issued if offline access and consent were requested. */
  function redeemed(form: URLSearchParams) {
    const query = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const hash = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    const isRight =
      query?.get("client_id") === driveUser.clientId &&
      query.get("redirect_uri") === form.get("redirect_uri") &&
      query.get("code_challenge") === hash &&
      form.get("client_secret") === driveUser.clientSecret;
    if (!isRight) return null;
    state.scope = query.get("scope") ?? "";
    const isLasting = query.get("access_type") === "offline" && query.get("prompt") === "consent";
    return isLasting ? { refresh_token: driveUser.refreshToken } : {};
  }

  async function issue(form: URLSearchParams): Promise<[number, string]> {
    const refuse = (status: number, error: string, error_description: string): [number, string] => [
      status,
      JSON.stringify({ error, error_description }),
    ];
    const code = form.get("grant_type") === "authorization_code" ? redeemed(form) : {};
    if (code === null) return refuse(400, "invalid_grant", "Malformed auth code.");
    if (form.get("grant_type") === "authorization_code") {
      // Answered below.
    } else if (form.get("grant_type") === "refresh_token") {
      if (
        form.get("client_id") !== driveUser.clientId ||
        form.get("client_secret") !== driveUser.clientSecret
      )
        return refuse(401, "invalid_client", "The OAuth client was not found.");
      if (form.get("refresh_token") !== driveUser.refreshToken || state.isRevoked)
        return refuse(400, "invalid_grant", "Token has been expired or revoked.");
    } else if (!(await isSigned(form.get("assertion") ?? ""))) {
      return refuse(400, "invalid_grant", "Invalid JWT Signature.");
    }
    const token = `ya29.${++state.issued}-${crypto.randomUUID()}`;
    tokens.add(token);
    const reply = {
      access_token: token,
      expires_in: 3_599,
      scope: state.scope,
      token_type: "Bearer",
      ...code,
    };
    return [200, JSON.stringify(reply)];
  }

  async function isSigned(assertion: string): Promise<boolean> {
    const [head = "", body = "", signature = ""] = assertion.split(".");
    const claims = JSON.parse(Buffer.from(body, "base64url").toString() || "{}");
    const header = JSON.parse(Buffer.from(head, "base64url").toString() || "{}");
    const isRight =
      header.alg === "RS256" &&
      header.kid === "key-1" &&
      claims.iss === EMAIL &&
      claims.aud === `${baseUrl}/token` &&
      [READ_SCOPE, WRITE_SCOPE].includes(claims.scope) &&
      claims.exp - claims.iat <= 3_600;
    const data = new TextEncoder().encode(`${head}.${body}`);
    return (
      isRight &&
      (await crypto.subtle.verify(
        "RSASSA-PKCS1-v1_5",
        keys.publicKey,
        Buffer.from(signature, "base64url"),
        data,
      ))
    );
  }

  function serve(url: URL): [number, string | Uint8Array] {
    const query = url.searchParams;
    const [, id, verb] = /^\/drive\/v3\/files(?:\/([^/]+)(\/export)?)?$/.exec(url.pathname) ?? [null];
    if (url.pathname === "/drive/v3/files") return list(query);
    if (url.pathname === "/drive/v3/changes/startPageToken") {
      return [200, JSON.stringify({ startPageToken: String(changes.length) })];
    }
    if (url.pathname === "/drive/v3/changes") return listChanges(query);
    const entry = id ? find(decodeURIComponent(id)) : undefined;
    if (!entry || (entry.driveId && query.get("supportsAllDrives") !== "true")) {
      return [404, fault(404, "notFound", `File not found: ${id}.`)];
    }
    if (verb) return exported(entry, query.get("mimeType") ?? "");
    if (query.get("alt") !== "media")
      return [200, JSON.stringify(shown(entry, query.get("fields") ?? "id,name,mimeType"))];
    if (entry.mimeType.startsWith(NATIVE)) {
      return [403, fault(403, "fileNotDownloadable", "Only files with binary content can be downloaded.")];
    }
    return [200, entry.content ?? ""];
  }

  const find = (id: string) => entries.get(id) ?? [...entries.values()].find((entry) => entry.id === id);

  function exported(entry: DriveEntry, mimeType: string): [number, string | Uint8Array] {
    const bytes = entry.exports?.[mimeType];
    if (bytes === undefined)
      return [400, fault(400, "badRequest", "The requested conversion is not supported.")];
    if (Buffer.byteLength(bytes) > state.maxExportBytes) {
      return [403, fault(403, "exportSizeLimitExceeded", "This file is too large to be exported.")];
    }
    return [200, bytes];
  }

  /** For each item only its last change, as it is now. A page may be shorter than requested, or empty. */
  function listChanges(query: URLSearchParams): [number, string] {
    const start = Number(query.get("pageToken") ?? Number.NaN);
    if (!(start >= state.firstToken && start <= changes.length)) {
      return [state.firstToken > 0 ? 410 : 404, fault(404, "notFound", "Page token is not valid.")];
    }
    const drive = query.get("driveId");
    if (drive !== null && query.get("supportsAllDrives") !== "true")
      return [403, fault(403, "teamDrivesParentLimit", "No.")];
    const size = Math.min(Number(query.get("pageSize") ?? 100), state.pageLimit);
    const end = Math.min(start + size, changes.length);
    const fields = /file\(([^)]*)\)/.exec(query.get("fields") ?? "")?.[1] ?? "id";
    const told = changes.slice(start, end).flatMap(({ id, driveId }, index) => {
      const isOlder = changes.slice(start + index + 1).some((later) => later.id === id);
      if (isOlder || (drive !== null && driveId !== drive)) return [];
      const entry = entries.get(id);
      const file = entry ? { file: shown(entry, fields) } : {};
      return [{ changeType: "file", removed: entry === undefined, fileId: id, ...file }];
    });
    const next = end < changes.length ? { nextPageToken: String(end) } : { newStartPageToken: String(end) };
    return [200, JSON.stringify({ changes: told, ...next })];
  }

  function list(query: URLSearchParams): [number, string] {
    const search = query.get("q") ?? "";
    const own = [...query].filter(([name]) => name !== "pageToken").join();
    const page = JSON.parse(Buffer.from(query.get("pageToken") ?? "", "base64url").toString() || "[0,null]");
    if (page[1] !== null && page[1] !== own) return [400, fault(400, "invalid", "Invalid Value")];
    const drive = query.get("corpora") === "drive" ? query.get("driveId") : null;
    const withDrives =
      query.get("includeItemsFromAllDrives") === "true" && query.get("supportsAllDrives") === "true";
    if (query.get("corpora") === "drive" && !withDrives)
      return [403, fault(403, "teamDrivesParentLimit", "No.")];
    const matches = matcher(search);
    const found = [...entries.values()]
      .filter((entry) => entry.id !== "my-drive" && matches(entry))
      .filter((entry) =>
        entry.driveId ? withDrives && (drive ?? entry.driveId) === entry.driveId : drive === null,
      )
      .sort(
        (a, b) => Number(b.mimeType === FOLDER) - Number(a.mimeType === FOLDER) || (a.name < b.name ? -1 : 1),
      );
    const size = Math.min(Number(query.get("pageSize") ?? 100), state.pageLimit);
    const fields = /files\(([^)]*)\)/.exec(query.get("fields") ?? "")?.[1] ?? "id,name,mimeType";
    const more = found.length > page[0] + size;
    const reply = {
      incompleteSearch: false,
      files: found.slice(page[0], page[0] + size).map((entry) => shown(entry, fields)),
      ...(more
        ? { nextPageToken: Buffer.from(JSON.stringify([page[0] + size, own])).toString("base64url") }
        : {}),
    };
    return [200, JSON.stringify(reply)];
  }

  /** The part of Drive's search language that is documented with these operators. */
  function matcher(search: string): (entry: DriveEntry) => boolean {
    if (search.startsWith("(")) {
      const [, inside = "", rest = ""] = /^\((.*?)\) and (.*)$/.exec(search) ?? [];
      const either = inside.split(" or ").map(matcher);
      const also = matcher(rest);
      return (entry) => either.some((each) => each(entry)) && also(entry);
    }
    const terms =
      search.match(/(?:'(?:[^'\\]|\\.)*' in parents|\w+ = (?:'(?:[^'\\]|\\.)*'|true|false))/g) ?? [];
    const value = (text: string) => text.replace(/^'|'$/g, "").replace(/\\(.)/g, "$1");
    return (entry) =>
      terms.every((term) => {
        const parent = /^('.*') in parents$/.exec(term)?.[1];
        if (parent)
          return (entry.parents ?? []).includes(value(parent) === "root" ? "my-drive" : value(parent));
        const [name, wanted = ""] = term.split(/ = (.*)/s);
        if (name === "name") return entry.name.toLowerCase() === value(wanted).toLowerCase();
        if (name === "trashed") return String(entry.trashed ?? false) === wanted;
        return name === "sharedWithMe" && String(entry.shared ?? false) === wanted;
      });
  }

  function shown(entry: DriveEntry, fields: string): object {
    const { content, exports: _, shared: __, ...rest } = entry;
    const bytes = content ?? "";
    const md5Checksum = new Bun.CryptoHasher("md5").update(bytes).digest("hex");
    const size = entry.mimeType.startsWith(NATIVE)
      ? {}
      : { size: String(Buffer.byteLength(bytes)), md5Checksum };
    const all: Record<string, unknown> = { trashed: false, ...rest, ...size };
    return Object.fromEntries(fields.split(",").flatMap((name) => (name in all ? [[name, all[name]]] : [])));
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const serviceAccount = {
    type: "service_account",
    client_email: EMAIL,
    private_key_id: "key-1",
    private_key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
    token_uri: `${baseUrl}/token`,
  };
  return {
    baseUrl,
    state,
    asked,
    serviceAccountJson: JSON.stringify(serviceAccount),
    put(...given: DriveEntry[]) {
      for (const entry of given) {
        const times = { createdTime: "2026-01-01T00:00:00.000Z", modifiedTime: "2026-02-01T00:00:00.000Z" };
        entries.set(entry.id, { parents: ["my-drive"], ...times, ...entry });
        changes.push({ id: entry.id, driveId: entry.driveId ?? null });
      }
    },
    all: () => [...entries.values()],
    /** The newest with this name. */
    named: (name: string) => [...entries.values()].findLast((entry) => entry.name === name),
    /** Number of requests that would change something. */
    writes: () => asked.filter(({ method, path }) => method !== "GET" && path !== "/token").length,
    /** Deletes permanently, not to the trash. */
    drop(id: string) {
      changes.push({ id, driveId: entries.get(id)?.driveId ?? null });
      entries.delete(id);
    },
    /** Invalidates all tokens issued so far. */
    expireTokens: () => tokens.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export type TestDrive = Awaited<ReturnType<typeof startDrive>>;

const fault = (code: number, reason: string, message: string): string =>
  JSON.stringify({ error: { code, message, errors: [{ domain: "global", reason, message }] } });

function send(response: ServerResponse, [status, body]: [number, string | Uint8Array]): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
