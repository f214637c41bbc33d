import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpTemplate } from "../../src/providers/http-template/definition.ts";

type Template = HttpTemplate;
type Resource = NonNullable<Template["http"]["resources"]>[number];
type Row = Record<string, unknown>;

interface Asked {
  method: string;
  /** Relative to the service's base URL, without parameters. */
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: bodies have every shape
  body: any;
}

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  value?: unknown;
  /** HTML instead of a value. */
  page?: string;
}

const START = Date.UTC(2026, 4, 1);
const HOUR = 3_600_000;

/** Fills in `{{config.x}}` and `{{credentials.x}}`. */
const filled = (text: string, scope: Record<string, Record<string, string>>) =>
  text.replace(
    /\{\{(\w+)\.(\w+)(?: \?\? "([^"]*)")?\}\}/g,
    (_, root, name, fallback) => scope[root]?.[name] ?? fallback ?? "",
  );

/** The names in a plain JMESPath, including quoted ones. */
const namesOf = (path: string): string[] =>
  [...path.replace(/ \|\| `\[\]`$/, "").matchAll(/"([^"]+)"|([\w$-]+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? "",
  );

function put(target: Record<string, unknown>, names: readonly string[], value: unknown): void {
  const [head = "", ...rest] = names;
  if (rest.length === 0) target[head] = value;
  else {
    if (typeof target[head] !== "object" || target[head] === null)
      target[head] = /^\d+$/.test(rest[0] ?? "") ? [] : {};
    put(target[head] as Record<string, unknown>, rest, value);
  }
}

const at = (value: unknown, names: readonly string[]): unknown =>
  names.reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);

/** Wraps the rows in a response so that `dataPath` finds them. */
function around(dataPath: string | undefined, rows: readonly Row[]): unknown {
  if (dataPath === undefined || dataPath === "@") return rows;
  const bare = dataPath.replace(/\((.*) \|\| `\[\]`\)/, "$1");
  const [, list = "", rest = ""] = /^(.*?)(?:\[\*?\](.*))?$/s.exec(bare) ?? [];
  const items = rest.startsWith(".{")
    ? rows.map((row) => [...rest.matchAll(/(\w+): \[(\d+)\]/g)].map(([, name = ""]) => row[name] ?? null))
    : rest.startsWith(".")
      ? rows.map((row) => ({ [rest.slice(1)]: row }))
      : rows;
  const names = namesOf(list);
  if (names.length === 0) return items;
  const value = {};
  put(value, names, items);
  return value;
}

/**
 * The service that a connection template describes, over a real socket, built only from the description:
 * it accepts the credentials in no other way, returns each resource by its paginator, filters by its cursor's
 * parameter, and is strict about everything that the description fixes. `faults` lists requests that deviate.
 */
export class DescribedService {
  readonly faults: string[] = [];
  /** Requests by resource. */
  readonly asked = new Map<string, Asked[]>();
  /** Whether a user has to approve a sign-in, on a page. */
  asksPerson = false;
  readonly #rows = new Map<string, Row[]>();
  readonly #codes = new Map<string, { challenge: string | null; redirectUri: string | null }>();
  readonly #tokens = new Set<string>();
  #refreshToken: string | null = null;
  /** Issued access and refresh tokens. */
  readonly issued: string[] = [];
  #issued = 0;
  #answered = 0;

  constructor(
    readonly definition: Template,
    readonly config: Record<string, string>,
    readonly credentials: Record<string, string>,
  ) {}

  get resources(): readonly Resource[] {
    return this.definition.http.resources ?? [];
  }

  /** Adds this many rows to each resource, newer than the existing ones. */
  grow(count: number): void {
    for (const resource of this.resources) {
      const rows = this.#rows.get(resource.name) ?? [];
      for (let added = 0; added < count; added++) rows.push(rowOf(resource, rows.length + 1));
      this.#rows.set(resource.name, rows);
    }
  }

  /** Returns whether a parameter names the cursor of the resource's row number `n`, or its day. */
  isLast(name: string, n: number, since: unknown): boolean {
    const { incremental, endpoint } = this.resources.find((each) => each.name === name) ?? {};
    const cursor = instantOf((this.#rows.get(name) ?? [])[n - 1]?.[incremental?.cursorField ?? ""]);
    const day = 24 * HOUR;
    const isDate = endpoint?.incremental?.format === "date";
    const isNumber = endpoint?.incremental?.format === "epoch_ms";
    const from = cursor - (incremental?.lagSeconds ?? 0) * (isNumber ? 1 : 1000);
    return instantOf(since) === (isDate ? Math.floor(from / day) * day : from);
  }

  /** Expires every access token. */
  endTokens(): void {
    this.#tokens.clear();
  }

  /** Revokes all access. */
  revoke(): void {
    this.#tokens.clear();
    this.#refreshToken = null;
  }

  async answer(request: Asked): Promise<Reply> {
    const signIn = this.#signIn(request);
    if (signIn) return signIn;
    if (!this.#isAuthorized(request)) return { status: 401, value: { message: "Who are you?" } };
    const verified = this.#verify(request);
    if (verified) return verified;
    this.#answered++;
    if (this.#answered === 2)
      return { status: 429, headers: { "retry-after": "1" }, value: { message: "Too many." } };
    if (this.#answered === 4)
      return { status: 503, headers: { "retry-after": "1" }, value: { message: "Busy." } };
    for (const [name, text] of Object.entries(this.definition.http.headers ?? {}))
      this.#expect(request.headers[name.toLowerCase()], this.#fill(text), `the header ${name}`);
    const resource = this.resources.find((each) => this.#isFor(each, request));
    if (!resource) {
      this.faults.push(
        `Nothing is at ${request.method} ${request.path}?${request.query} ${JSON.stringify(request.body)}`,
      );
      return { status: 404, value: { message: "There is nothing here." } };
    }
    this.asked.set(resource.name, [...(this.asked.get(resource.name) ?? []), request]);
    return this.#page(resource, request);
  }

  #fill(text: string, encode = (value: string) => value): string {
    const config = Object.fromEntries(
      Object.entries(this.config).map(([name, value]) => [name, encode(value)]),
    );
    return filled(text, { config, credentials: this.credentials });
  }

  #expect(found: unknown, wanted: unknown, what: string): void {
    if (!Bun.deepEquals(found, wanted))
      this.faults.push(`${what} was ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  }

  #isAuthorized({ headers, query, path }: Asked): boolean {
    const { auth } = this.definition.http;
    const given = headers.authorization ?? "";
    const text = (value: string | undefined, fallback: string) => this.#fill(value ?? fallback);
    switch (auth.type) {
      case "none":
        return true;
      case "bearer":
        return given === `Bearer ${text(auth.token, "{{credentials.token}}")}`;
      case "basic": {
        const pair = `${text(auth.username, "{{credentials.username}}")}:${text(auth.password, "{{credentials.password}}")}`;
        return given === `Basic ${Buffer.from(pair).toString("base64")}`;
      }
      case "header":
        return (
          headers[(auth.name ?? "X-API-Key").toLowerCase()] === text(auth.value, "{{credentials.apiKey}}")
        );
      case "query":
        return query.get(auth.name ?? "api_key") === text(auth.value, "{{credentials.apiKey}}");
      case "path":
        return this.#root().split("/")[1] === path.split("/")[1];
      default:
        return this.#tokens.has(given.replace("Bearer ", ""));
    }
  }

  #verify(request: Asked): Reply | null {
    const { method = "GET", path = "/", body } = this.definition.http.verify ?? {};
    const wanted = new URL(this.#root() + this.#fill(path), "http://peer");
    const isSame =
      request.method === method &&
      request.path === wanted.pathname &&
      [...wanted.searchParams].every(([name, value]) => request.query.get(name) === value);
    if (!isSame || (body && !Bun.deepEquals(body, request.body))) return null;
    // If resources share a path, they differ in their parameters, or everything is returned at once.
    const resource = this.resources.find((each) => this.#isFor(each, request));
    if (!resource) return { value: { ok: true } };
    if (!hasPages(resource)) return this.#page(resource, request);
    return request.query.size > wanted.searchParams.size ? null : { value: { ok: true } };
  }

  /** The path after the base URL that each request has. */
  #root(): string {
    const { auth, baseUrl } = this.definition.http;
    const token = auth.type === "path" ? `/${auth.prefix ?? ""}${this.credentials.token}` : "";
    return (
      new URL(this.#fill(baseUrl)).pathname.slice(new URL(this.config.baseUrl ?? "").pathname.length) + token
    );
  }

  #isFor({ spec, endpoint = {} }: Resource, { method, path, query, body }: Asked): boolean {
    if (method !== (endpoint.method ?? "GET") || path !== this.#root() + this.#fill(spec, encodeURIComponent))
      return false;
    const isSet = ([name, value]: [string, unknown]) => {
      const wanted = [value].flat().map((text) => this.#fill(String(text)));
      return value === null || Bun.deepEquals(query.getAll(name), wanted);
    };
    const wanted = JSON.parse(this.#fill(JSON.stringify(endpoint.body ?? {})));
    return Object.entries(endpoint.params ?? {}).every(isSet) && holds(body ?? {}, wanted);
  }

  #page(resource: Resource, request: Asked): Reply {
    const { endpoint = {} } = resource;
    const { paginator = { type: "none" }, incremental, dataPath, totalPath } = endpoint;
    const given = (name: string, where: "query" | "body" = "query"): string | null => {
      const value = where === "body" ? at(request.body, name.split(".")) : request.query.get(name);
      return value === undefined || value === null ? null : String(value);
    };
    let rows = this.#rows.get(resource.name) ?? [];
    const since = incremental && given(incremental.startParam, incremental.in);
    const field = resource.incremental?.cursorField ?? "";
    if (since) rows = rows.filter((row) => instantOf(row[field]) >= instantOf(since));
    if (paginator.type === "none") return { value: around(dataPath, rows) };
    const asksSize = paginator.sizeParam === undefined ? null : given(paginator.sizeParam, paginator.in);
    if (paginator.sizeParam !== undefined)
      this.#expect(asksSize, "3", `${resource.name}: ${paginator.sizeParam}`);
    const size = Number(asksSize ?? 3);
    const start = startOf(rows, size, paginator, given, request);
    const page = rows.slice(start, start + size);
    const [end] = "stopOnStatus" in paginator ? (paginator.stopOnStatus ?? []) : [];
    if (page.length === 0 && start > 0 && end !== undefined)
      return { status: end, value: { message: "No more." } };
    const next = start + page.length;
    const hasMore = next < rows.length;
    const value = around(dataPath, page);
    const body = (Array.isArray(value) ? {} : value) as Record<string, unknown>;
    if (totalPath) put(body, namesOf(totalPath), rows.length);
    if ("hasNextPath" in paginator && paginator.hasNextPath)
      put(body, namesOf(paginator.hasNextPath), paginator.hasNextPath.startsWith("!") ? !hasMore : hasMore);
    const link = new URL(`${this.config.baseUrl}${request.path}`);
    for (const [name, text] of request.query) link.searchParams.append(name, text);
    link.searchParams.set("_at", String(next));
    if (paginator.type === "json_link") put(body, namesOf(paginator.nextPath), hasMore ? link.href : null);
    if (paginator.type === "cursor" && !paginator.cursorPath.includes("[-1]"))
      put(body, namesOf(paginator.cursorPath), hasMore ? `at-${next}` : null);
    const headers: Record<string, string> =
      paginator.type === "link_header" && hasMore ? { link: `<${link.href}>; rel="next"` } : {};
    return { value, headers };
  }

  /** The sign-in page and the token endpoint. */
  #signIn({ method, path, query, headers, body }: Asked): Reply | null {
    const { auth } = this.definition.http;
    if (!("tokenUrl" in auth)) return null;
    const own = new URL(this.config.baseUrl ?? "").pathname;
    const pathOf = (address: string) => new URL(this.#fill(address)).pathname.slice(own.length);
    if (auth.type === "oauth2_authorization_code" && path === pathOf(auth.authorizeUrl)) {
      for (const [name, text] of Object.entries(auth.extraParams ?? {}))
        this.#expect(query.get(name), this.#fill(text), `the parameter ${name} of the sign-in`);
      this.#expect(query.get("scope"), auth.scopes?.join(" ") ?? null, "the scope");
      if (this.asksPerson && !query.has("allowed")) {
        const address = `${this.config.baseUrl}${path}?${query}&allowed=1`.replaceAll("&", "&amp;");
        return { page: `<!doctype html><title>Service</title><a href="${address}">Allow</a>` };
      }
      const redirectUri = query.get("redirect_uri");
      const code = `code-${++this.#issued}`;
      this.#codes.set(code, { challenge: query.get("code_challenge"), redirectUri });
      const back = new URL(redirectUri ?? "");
      back.searchParams.set("state", query.get("state") ?? "");
      back.searchParams.set("code", code);
      return { status: 302, headers: { location: back.href } };
    }
    if (method !== "POST" || path !== pathOf(auth.tokenUrl)) return null;
    const form = body as URLSearchParams;
    const { clientId = "", clientSecret = "" } = this.credentials;
    const encoded = (text: string) => new URLSearchParams({ t: text }).toString().slice(2);
    const pair = Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString("base64");
    const way = auth.type === "oauth2_client_credentials" ? auth.clientAuth : auth.tokenAuth;
    const isClient =
      way === "body"
        ? form.get("client_id") === clientId && form.get("client_secret") === clientSecret
        : headers.authorization === `Basic ${pair}`;
    if (!isClient) return { status: 401, value: { error: "invalid_client" } };
    const grant = form.get("grant_type");
    if (grant === "authorization_code") {
      const code = this.#codes.get(form.get("code") ?? "");
      const hashed = new Bun.CryptoHasher("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      if (
        !code ||
        code.redirectUri !== form.get("redirect_uri") ||
        (code.challenge !== null && code.challenge !== hashed)
      )
        return { status: 400, value: { error: "invalid_grant" } };
      this.#refreshToken = `refresh-${++this.#issued}`;
    } else if (grant === "refresh_token") {
      if (this.#refreshToken === null || form.get("refresh_token") !== this.#refreshToken)
        return { status: 400, value: { error: "invalid_grant" } };
    } else if (grant !== "client_credentials" || auth.type !== "oauth2_client_credentials")
      return { status: 400, value: { error: "unsupported_grant_type" } };
    const token = `access-${++this.#issued}-${crypto.randomUUID()}`;
    this.#tokens.add(token);
    this.issued.push(token, ...(this.#refreshToken === null ? [] : [this.#refreshToken]));
    const refresh = this.#refreshToken === null ? {} : { refresh_token: this.#refreshToken };
    return { value: { access_token: token, token_type: "Bearer", expires_in: 3600, ...refresh } };
  }
}

/** Returns whether a body contains everything required, whatever else it contains. */
function holds(given: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted))
    return Bun.deepEquals(given, wanted);
  return Object.entries(wanted).every(([name, value]) => holds((given as Row | null)?.[name], value));
}

const hasPages = ({ endpoint }: Resource) => (endpoint?.paginator?.type ?? "none") !== "none";

/** Row number `n`: its key, its cursor, and what the paginator looks for in the last one. */
function rowOf({ primaryKey = [], incremental, endpoint = {} }: Resource, n: number): Row {
  const row: Row = { a: `value ${n}` };
  const instant = START + n * 24 * HOUR;
  const format = endpoint.incremental?.format ?? "as_is";
  const ofLast = /\[-1\]\.(\w+)/.exec(
    endpoint.paginator?.type === "cursor" ? endpoint.paginator.cursorPath : "",
  )?.[1];
  for (const name of [...primaryKey, ...(ofLast ? [ofLast] : [])])
    row[name] = `${name}-${String(n).padStart(4, "0")}`;
  if (incremental)
    row[incremental.cursorField] =
      format === "epoch_s"
        ? instant / 1000
        : format === "epoch_ms"
          ? instant
          : new Date(instant).toISOString();
  return row;
}

const instantOf = (value: unknown): number => {
  const text = String(value);
  if (/^\d+$/.test(text)) return Number(text) * (text.length > 11 ? 1 : 1000);
  return Date.parse(text);
};

function startOf(
  rows: readonly Row[],
  size: number,
  paginator: Exclude<NonNullable<NonNullable<Resource["endpoint"]>["paginator"]>, { type: "none" }>,
  given: (name: string, where?: "query" | "body") => string | null,
  { query }: Asked,
): number {
  switch (paginator.type) {
    case "page":
      return (Number(given(paginator.pageParam ?? "page", paginator.in)) - (paginator.startPage ?? 1)) * size;
    case "offset":
      return Number(given(paginator.offsetParam ?? "offset", paginator.in)) - (paginator.startOffset ?? 0);
    case "cursor": {
      const cursor = given(paginator.cursorParam, paginator.in);
      if (cursor === null) return 0;
      const field = /\[-1\]\.(\w+)/.exec(paginator.cursorPath)?.[1];
      return field ? rows.findIndex((row) => row[field] === cursor) + 1 : Number(cursor.replace("at-", ""));
    }
    default:
      return Number(query.get("_at") ?? 0);
  }
}

/** Services at one address, each below the name that it was added with. `await using` ends it. */
export async function startDescribed() {
  const services = new Map<string, DescribedService>();
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(500).end(String(error)));
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const url = new URL(incoming.url ?? "/", "http://peer");
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    const isForm = /x-www-form-urlencoded/.test(incoming.headers["content-type"] ?? "");
    const [, name = "", path = ""] = /^\/([^/]+)(.*)$/.exec(url.pathname) ?? [];
    const request = {
      method: incoming.method ?? "",
      path,
      query: url.searchParams,
      headers: incoming.headers,
      body: isForm ? new URLSearchParams(text) : text === "" ? null : JSON.parse(text),
    };
    const reply = (await services.get(name)?.answer(request)) ?? { status: 404 };
    const contentType = reply.page === undefined ? "application/json" : "text/html";
    outgoing.writeHead(reply.status ?? 200, { "content-type": contentType, ...reply.headers });
    outgoing.end(reply.page ?? (reply.value === undefined ? "" : JSON.stringify(reply.value)));
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    services,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
