import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { CONNECTIONS, connect, faultsOf, localFiles, trailOf } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";

const RANDOM_ID = "01890a5d-ac96-774b-bcce-b302099a8057";
const database = (more: object = {}) => ({
  name: "Shop database",
  provider: "postgres",
  config: { host: "db.example.com", database: "shop" },
  credentials: { user: "reader", password: "hunter2-canary" },
  ...more,
});

describe("creating a connection", () => {
  test("responds with 201 and every field, encrypts the credentials and records it", async () => {
    await using started = await startApp({ engine: false });
    const made = await started.owner("POST", CONNECTIONS, database());
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      approvalRequired: "none",
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Shop database",
      slug: "shop-database",
      provider: "postgres",
      status: "needs_verification",
      config: { host: "db.example.com", database: "shop" },
      hasCredentials: true,
      isDefault: false,
      isFromTemplate: false,
      templateId: null,
      lastUsedAt: null,
      lastVerifiedAt: null,
      verificationError: null,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: made.body.createdAt,
      createdBy: started.ids.userId,
      updatedBy: started.ids.userId,
    });
    const [event] = await trailOf(started, made.body.id);
    expect(event).toMatchObject({
      type: "connection.created",
      data: { provider: "postgres", slug: "shop-database" },
    });
    for (const path of [`/${made.body.id}`, "/slug/shop-database"]) {
      expect((await started.owner("GET", CONNECTIONS + path)).body).toEqual(made.body);
    }
    const plain = await connect(started.owner, localFiles("Files"));
    expect([plain.hasCredentials, plain.config]).toEqual([false, {}]);
  });

  test("names the existing fields if one is unknown", async () => {
    await using started = await startApp({ engine: false });
    const invitation = { email: "grace@example.com", role: "viewer" };
    const { body } = await started.owner("POST", "/api/v1/organizations/invitations", invitation);
    expect(body.detail).toEqual([
      { loc: ["body", "role"], msg: "Unknown field. Known fields: email, roleSlug", type: "extra_forbidden" },
    ]);
    const { body: other } = await started.owner("POST", CONNECTIONS, database({ config: { hots: 1 } }));
    const [{ msg }] = other.detail.filter(({ type }: { type: string }) => type === "extra_forbidden");
    expect(msg).toStartWith("Unknown field. Known fields: host, port, database, sslMode");
  });

  test("reports everything that is wrong at once, shape and provider", async () => {
    await using started = await startApp({ engine: false });
    const wrong = async (body: unknown) => {
      const answer = await started.owner("POST", CONNECTIONS, body);
      expect(answer.status).toBe(422);
      return faultsOf(answer);
    };
    expect(await wrong({})).toEqual([
      "body.credentials missing",
      "body.name missing",
      "body.provider missing",
    ]);
    expect(
      await wrong(database({ name: "", config: { port: "5432", hots: 1 }, credentials: { password: 7 } })),
    ).toEqual([
      "body.config.database missing",
      "body.config.host missing",
      "body.config.hots extra_forbidden",
      "body.config.port int_type",
      "body.credentials.password string_type",
      "body.credentials.user missing",
      "body.name string_too_short",
    ]);
    expect(await wrong(database({ name: "x".repeat(256), credentials: { user: "a", token: "b" } }))).toEqual([
      "body.credentials.token extra_forbidden",
      "body.name string_too_long",
    ]);
    expect(await wrong(database({ name: 7, slug: "No Slug", colour: "red", config: [] }))).toEqual([
      "body.colour extra_forbidden",
      "body.config dict_type",
      "body.name string_type",
      "body.slug string_pattern_mismatch",
    ]);
    expect(
      await wrong(database({ config: { host: "db", database: "d", baseUrl: "postgres://me:pw@proxy" } })),
    ).toEqual(["body.config.baseUrl value_error"]);
    expect((await started.owner("POST", CONNECTIONS, database({ name: "é".repeat(255) }))).status).toBe(201);
    const unknown = await started.owner("POST", CONNECTIONS, database({ provider: "oracle" }));
    expect(faultsOf(unknown)).toEqual(["body.provider enum"]);
    expect(unknown.body.detail[0].msg).toContain(
      "'klaviyo', 'local_files', 'mysql', 'postgres', 's3', 'sftp', 'shopify'",
    );
    expect((await started.owner("GET", CONNECTIONS)).body.total).toBe(1);
  });

  test("accepts no folder of local files that leads outside", async () => {
    await using started = await startApp({ engine: false });
    const make = (root: string) =>
      started.owner("POST", CONNECTIONS, localFiles("Files", { config: { root } }));
    for (const root of ["..", "../other", "a/../../other", "/..", "./a", "a/."]) {
      const refused = await make(root);
      expect([root, refused.status]).toEqual([root, 422]);
      expect(faultsOf(refused)).toEqual(["body.config.root string_pattern_mismatch"]);
    }
    for (const root of ["", "/", "in", "/in/box/", "..in", "in..", "a..b/...", ".hidden"])
      expect([root, (await make(root)).status]).toEqual([root, 201]);
  });

  test("accepts a provider or a template, not both and not neither", async () => {
    await using started = await startApp({ engine: false });
    const wrong = async (body: object) =>
      faultsOf(await started.owner("POST", CONNECTIONS, { name: "a", credentials: {}, ...body }));
    expect(await wrong({})).toEqual(["body.provider missing"]);
    expect(await wrong({ provider: "local_files", kind: "from_template" })).toEqual([
      "body.provider value_error",
    ]);
    expect(await wrong({ provider: "local_files", templateId: RANDOM_ID })).toEqual([
      "body.provider value_error",
    ]);
    expect(await wrong({ provider: "local_files", templateVersion: 2 })).toEqual([
      "body.templateVersion extra_forbidden",
    ]);
    expect(await wrong({ kind: "from_template" })).toEqual(["body.templateId missing"]);
    expect(await wrong({ kind: "other", templateSlug: "crm" })).toEqual([
      "body.kind literal_error",
      "body.templateSlug not_found",
    ]);
    expect(await wrong({ templateId: RANDOM_ID })).toEqual(["body.templateId not_found"]);
  });

  test("derives a free slug, and rejects a given one that is taken", async () => {
    await using started = await startApp({ engine: false });
    const made = await Promise.all(
      Array.from({ length: 12 }, () => connect(started.owner, localFiles("Été à Zürich!"))),
    );
    const slugs = ["", ..."23456789", "10", "11", "12"].map((n) =>
      n ? `ete-a-zurich-${n}` : "ete-a-zurich",
    );
    expect(made.map(({ slug }) => slug).sort()).toEqual(slugs.sort());
    expect((await connect(started.owner, localFiles("???"))).slug).toBe("connection");
    const taken = await started.owner("POST", CONNECTIONS, localFiles("Other", { slug: "connection" }));
    expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
    const elsewhere = await neighbour(started);
    expect((await connect(elsewhere.call, localFiles("Other", { slug: "connection" }))).slug).toBe(
      "connection",
    );
  });

  test("is done once per Idempotency-Key", async () => {
    await using started = await startApp({ engine: false });
    const post = (body: object) => started.owner("POST", CONNECTIONS, body, { "idempotency-key": "k-1" });
    const first = await post(database());
    const again = await post(database());
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(again.body).toEqual(first.body);
    expect((await post(database({ name: "Other" }))).body.code).toBe("idempotency_mismatch");
    expect((await started.owner("GET", CONNECTIONS)).body.total).toBe(1);
  });
});

describe("listing connections", () => {
  const names = (answer: { body: { connections: { name: string }[] } }) =>
    answer.body.connections.map(({ name }) => name);

  test("pages by offset in the interface's envelope, with the users who created them", async () => {
    await using started = await startApp({ engine: false });
    const empty = await started.owner("GET", CONNECTIONS);
    expect(empty.body).toEqual({
      connections: [],
      hasNext: false,
      limit: 50,
      offset: 0,
      total: 0,
      users: {},
    });
    const member = await join(started, "member");
    for (const name of ["c", "a", "b"])
      await connect(name === "b" ? member.call : started.owner, localFiles(name));
    const page = await started.owner("GET", `${CONNECTIONS}?limit=2`);
    expect(Object.keys(page.body).sort()).toEqual([
      "connections",
      "hasNext",
      "limit",
      "offset",
      "total",
      "users",
    ]);
    expect(page.body).toMatchObject({ hasNext: true, limit: 2, offset: 0, total: 3 });
    expect(names(page)).toEqual(["a", "b"]);
    expect(page.body.users).toEqual({
      [started.ids.userId]: {
        id: started.ids.userId,
        firstName: "Ada",
        lastName: "Lovelace",
        profilePictureUrl: null,
      },
      [member.user.id]: {
        id: member.user.id,
        firstName: member.user.firstName,
        lastName: null,
        profilePictureUrl: null,
      },
    });
    const last = await started.owner("GET", `${CONNECTIONS}?limit=2&offset=2`);
    expect([names(last), last.body.hasNext]).toEqual([["c"], false]);
    expect(names(await started.owner("GET", `${CONNECTIONS}?order=desc&sort_by=created_at`))).toEqual([
      "b",
      "a",
      "c",
    ]);
    expect(names(await started.owner("GET", `${CONNECTIONS}?offset=9`))).toEqual([]);
  });

  test("searches names and slugs ignoring case; wildcard characters are literal", async () => {
    await using started = await startApp({ engine: false });
    for (const name of [
      "100% wool",
      "100 wools",
      "snake_case",
      "snakeXcase",
      "ÄPFEL",
      "a*b?c[d]e^f-g",
      "plain",
    ]) {
      await connect(started.owner, localFiles(name, name === "plain" ? { slug: "hidden-gem" } : {}));
    }
    const search = async (q: string) => {
      const answer = await started.owner("GET", `${CONNECTIONS}?q=${encodeURIComponent(q)}`);
      expect(answer.body.total).toBe(names(answer).length);
      return names(answer);
    };
    expect(await search("100% W")).toEqual(["100% wool"]);
    expect(await search("SNAKE_")).toEqual(["snake_case"]);
    expect(await search("äpFel")).toEqual(["ÄPFEL"]);
    expect(await search("ÄPF")).toEqual(["ÄPFEL"]);
    expect(await search("A*B?C[D]E^F-G")).toEqual(["a*b?c[d]e^f-g"]);
    expect(await search("*")).toEqual(["a*b?c[d]e^f-g"]);
    expect(await search("DEN-G")).toEqual(["plain"]);
    expect(await search("' or 1=1 --")).toEqual([]);
  });

  test("filters by provider and status, and rejects unknown ones", async () => {
    await using started = await startApp({ engine: false });
    const files = await connect(started.owner, localFiles("files"));
    await connect(started.owner, database());
    await started.owner("POST", `${CONNECTIONS}/${files.id}/disable`);
    const list = (query: string) => started.owner("GET", `${CONNECTIONS}?${query}`);
    expect(names(await list("provider=local_files"))).toEqual(["files"]);
    expect(names(await list("provider=local_files&provider=postgres"))).toEqual(["Shop database", "files"]);
    expect(names(await list(`ids=${files.id}&ids=${crypto.randomUUID()}`))).toEqual(["files"]);
    const disabled = await list("status=disabled&status=error");
    expect([names(disabled), disabled.body.total]).toEqual([["files"], 1]);
    expect(names(await list("status=error"))).toEqual([]);
    for (const [query, fault] of [
      ["provider=postgres&provider=nope", "query.provider.1 enum"],
      ["status=asleep", "query.status.0 enum"],
      ["sort_by=credentials", "query.sort_by enum"],
      ["order=up", "query.order enum"],
      ["limit=0", "query.limit greater_than_equal"],
      ["limit=101", "query.limit less_than_equal"],
      ["offset=-1", "query.offset greater_than_equal"],
      ["limit=ten", "query.limit int_type"],
      ["statuses=active", "query.statuses extra_forbidden"],
    ] as const) {
      const answer = await list(query);
      expect([query, answer.status, faultsOf(answer)]).toEqual([query, 422, [fault]]);
    }
  });

  test("pages by cursor without repeating or skipping, whatever is added in the meantime", async () => {
    await using started = await startApp({ engine: false });
    for (const name of ["b", "d", "d", "f"]) await connect(started.owner, localFiles(name));
    const list = (query: string) => started.owner("GET", `${CONNECTIONS}?limit=2${query}`);
    const first = await list("&cursor=");
    expect([names(first), first.body.hasNext, first.body.offset, first.body.total]).toEqual([
      ["b", "d"],
      true,
      0,
      4,
    ]);
    await connect(started.owner, localFiles("a"));
    await connect(started.owner, localFiles("e"));
    const next = encodeURIComponent(first.body.nextCursor);
    const second = await list(`&cursor=${next}`);
    expect(names(second)).toEqual(["d", "e"]);
    const third = await list(`&cursor=${encodeURIComponent(second.body.nextCursor)}`);
    expect([names(third), third.body.hasNext, "nextCursor" in third.body]).toEqual([["f"], false, false]);

    const backwards = await list("&cursor=&order=desc&sort_by=last_verified_at");
    const rest = await list(
      `&order=desc&sort_by=last_verified_at&cursor=${encodeURIComponent(backwards.body.nextCursor)}`,
    );
    const seen = [...backwards.body.connections, ...rest.body.connections].map(({ id }) => id);
    expect([seen.length, new Set(seen).size, seen]).toEqual([4, 4, [...seen].sort().reverse()]);

    for (const query of [
      `&cursor=${next}&order=desc`,
      `&cursor=${next}&q=d`,
      `&cursor=x${next}`,
      "&cursor=garbage",
    ]) {
      const answer = await list(query);
      expect([query, answer.status, faultsOf(answer)]).toEqual([query, 422, ["query.cursor cursor_invalid"]]);
    }
    const other = await neighbour(started);
    expect((await other.call("GET", `${CONNECTIONS}?limit=2&cursor=${next}`)).status).toBe(422);
    started.clock.turn(25 * 60 * 60 * 1000);
    const { token: _, ...late } = await join(started, "viewer");
    const expired = await late.call("GET", `${CONNECTIONS}?limit=2&cursor=${next}`);
    expect([expired.status, expired.body.code]).toEqual([410, "cursor_expired"]);
  });
});

describe("changing a connection", () => {
  test("changes only the given fields; without changes, updatedAt and the audit log stay the same", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, database());
    const patch = (body: object) => started.owner("PATCH", `${CONNECTIONS}/${made.id}`, body);
    started.clock.turn(1000);
    for (const same of [
      {},
      { name: made.name, slug: made.slug },
      { config: { database: "shop" } },
      { config: {}, credentials: {} },
    ]) {
      const answer = await patch(same);
      expect([answer.status, answer.body]).toEqual([200, made]);
    }
    const changed = await patch({ name: "Shop", config: { database: "shop2", sslMode: "require" } });
    expect(changed.body).toMatchObject({ name: "Shop", slug: "shop-database" });
    expect(changed.body.config).toEqual({ host: "db.example.com", database: "shop2", sslMode: "require" });
    expect(changed.body.updatedAt > made.updatedAt).toBe(true);
    const { credentials } = database();
    const cleared = await patch({ config: { sslMode: null }, credentials });
    expect(cleared.body.config).toEqual({ host: "db.example.com", database: "shop2" });
    const trail = await trailOf(started, made.id);
    expect(trail.map(({ type }) => type)).toEqual([
      "connection.created",
      "connection.updated",
      "connection.updated",
    ]);
    expect(trail[1]?.data.changes).toEqual([
      {
        field: "config",
        from: { host: "db.example.com", database: "shop" },
        to: { host: "db.example.com", database: "shop2", sslMode: "require" },
      },
      { field: "name", from: "Shop database", to: "Shop" },
    ]);
  });

  test("rejects faults, the server's own fields and a slug that is taken, and changes nothing", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, database());
    await connect(started.owner, localFiles("Files"));
    const ungiven = "body.credentials credentials_required";
    for (const [body, faults] of [
      [{ name: "" }, ["body.name string_too_short"]],
      [
        { name: null, provider: "s3", status: "active", isDefault: true },
        [
          "body.isDefault extra_forbidden",
          "body.name string_type",
          "body.provider extra_forbidden",
          "body.status extra_forbidden",
        ],
      ],
      [
        { config: { host: null, port: 0 }, credentials: { user: null, extra: "x" } },
        [
          "body.config.host missing",
          "body.config.port greater_than_equal",
          ungiven,
          "body.credentials.extra extra_forbidden",
          "body.credentials.user missing",
        ],
      ],
      [{ config: null }, ["body.config.database missing", "body.config.host missing", ungiven]],
      [{ credentials: null }, ["body.credentials.user missing"]],
      [{ credentials: { password: 5 } }, ["body.credentials.password string_type"]],
    ] as const) {
      const answer = await started.owner("PATCH", `${CONNECTIONS}/${made.id}`, body);
      expect([answer.status, faultsOf(answer)]).toEqual([422, [...faults]]);
    }
    const taken = await started.owner("PATCH", `${CONNECTIONS}/${made.id}`, { slug: "files", name: "New" });
    expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
    expect((await started.owner("GET", `${CONNECTIONS}/${made.id}`)).body).toEqual(made);
    expect((await trailOf(started, made.id)).length).toBe(1);
  });

  test.each(["postgres", "mysql"])(
    "of %s accepts a weaker sslMode only with the credentials",
    async (provider) => {
      await using started = await startApp({ engine: false });
      const made = await connect(started.owner, { ...database(), provider });
      const { credentials } = database();
      const at = `${CONNECTIONS}/${made.id}`;
      const patch = (sslMode: string | null, more: object = {}) =>
        started.owner("PATCH", at, { config: { sslMode }, ...more });
      for (const mode of ["prefer", "require", "verify-ca", "verify-full"])
        expect((await patch(mode)).status).toBe(200);
      for (const weaker of [null, "disable", "allow", "prefer", "require", "verify-ca"]) {
        for (const more of [{}, { credentials: {} }, { credentials: { user: "reader" } }]) {
          const answer = await patch(weaker, more);
          expect([answer.status, faultsOf(answer)]).toEqual([422, ["body.credentials credentials_required"]]);
        }
      }
      const { body } = await started.owner("GET", at);
      expect(body.config.sslMode).toBe("verify-full");
      expect((await patch("disable", { credentials })).status).toBe(200);
      expect((await patch("prefer")).status).toBe(200);
      expect((await patch("allow")).status).toBe(422);
    },
  );

  test("counts the stored credentials as changed, unless only different ones should", async () => {
    await using app = await startApp({ engine: false });
    const { credentials } = database();
    const made = await connect(app.owner, database());
    const at = `${CONNECTIONS}/${made.id}`;
    const disabled = await app.owner("POST", `${at}/disable`);
    for (const given of [credentials, { password: credentials.password }]) {
      const same = await app.owner("PATCH", `${at}?if_changed=true`, { credentials: given });
      expect([same.status, same.body.updatedAt]).toEqual([200, disabled.body.updatedAt]);
    }
    const again = await app.owner("PATCH", at, { credentials });
    expect(again.body.updatedAt > disabled.body.updatedAt).toBe(true);
    const other = await app.owner("PATCH", `${at}?if_changed=true`, { credentials: { password: "other" } });
    expect(other.body.updatedAt > again.body.updatedAt).toBe(true);
    const trail = await trailOf(app, made.id);
    expect(
      trail.flatMap(({ data }) => (data.changes as { field: string }[]) ?? []).map(({ field }) => field),
    ).toEqual(["status", "credentials", "credentials"]);
  });

  test("sends stored credentials to no other destination unless they are all entered again", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, database());
    const patch = (body: object) => started.owner("PATCH", `${CONNECTIONS}/${made.id}`, body);
    for (const body of [
      { config: { host: "evil.example.com" } },
      { config: { port: 5433 } },
      { config: { baseUrl: "evil.example.com:5432" } },
      { config: { host: "evil.example.com" }, credentials: {} },
      { config: { host: "evil.example.com" }, credentials: { user: "reader" } },
    ]) {
      const answer = await patch(body);
      expect([answer.status, faultsOf(answer)]).toEqual([422, ["body.credentials credentials_required"]]);
      expect(answer.text).not.toContain("hunter2");
    }
    expect((await patch({ config: { port: 5432 } })).status).toBe(200); // The default, now explicit.
    const moved = await patch({
      config: { host: "new.example.com" },
      credentials: { user: "reader", password: "other-canary" },
    });
    expect([moved.status, moved.body.config.host]).toEqual([200, "new.example.com"]);
    const moving = (await trailOf(started, made.id)).at(-1)?.data.changes as { field: string }[];
    expect(moving.map(({ field }) => field)).toEqual(["config", "credentials"]);
    const bucket = await connect(started.owner, {
      name: "Bucket",
      provider: "s3",
      config: { bucket: "data" },
      credentials: { accessKeyId: "AKIA", secretAccessKey: "secret-canary" },
    });
    for (const config of [
      { endpointUrl: "https://evil.example.com" },
      { bucket: "other" },
      { region: "eu-west-1" },
    ]) {
      const answer = await started.owner("PATCH", `${CONNECTIONS}/${bucket.id}`, { config });
      expect(faultsOf(answer)).toEqual(["body.credentials credentials_required"]);
    }
    expect(
      (await started.owner("PATCH", `${CONNECTIONS}/${bucket.id}`, { config: { prefix: "in" } })).status,
    ).toBe(200);
    const trail = JSON.stringify([
      ...(await trailOf(started, made.id)),
      ...(await trailOf(started, bucket.id)),
    ]);
    expect(trail).toContain('{"field":"credentials","from":"***","to":"***"}');
    expect(trail).not.toContain("canary");
  });
});

describe("states", () => {
  test("disable and reactivate work in one direction each, and verify needs one that isn't disabled", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, localFiles("Files"));
    const act = async (verb: string) => {
      const { status, body } = await started.owner("POST", `${CONNECTIONS}/${made.id}/${verb}`);
      return [status, body.status ?? body.code];
    };
    expect(await act("reactivate")).toEqual([409, "invalid_state"]);
    expect(await act("verify")).toEqual([200, "active"]);
    expect(await act("disable")).toEqual([200, "disabled"]);
    expect(await act("disable")).toEqual([409, "invalid_state"]);
    expect(await act("verify")).toEqual([409, "invalid_state"]);
    const patched = await started.owner("PATCH", `${CONNECTIONS}/${made.id}`, { config: { root: "/in" } });
    expect(patched.body.status).toBe("disabled");
    expect(await act("reactivate")).toEqual([200, "needs_verification"]);
    expect((await trailOf(started, made.id)).map(({ type }) => type)).toEqual([
      "connection.created",
      "connection.tested",
      "connection.updated",
      "connection.updated",
      "connection.updated",
    ]);
  });

  test("one connection of each provider is the default", async () => {
    await using started = await startApp({ engine: false });
    const one = await connect(started.owner, localFiles("one"));
    const two = await connect(started.owner, localFiles("two"));
    const other = await connect(started.owner, database());
    const setDefault = (id: string) => started.owner("POST", `${CONNECTIONS}/${id}/set-default`);
    for (const id of [one.id, other.id, two.id]) expect((await setDefault(id)).body.isDefault).toBe(true);
    const { body } = await started.owner("GET", CONNECTIONS);
    expect(
      body.connections
        .filter((c: { isDefault: boolean }) => c.isDefault)
        .map((c: { name: string }) => c.name),
    ).toEqual(["Shop database", "two"]);
    const before = await trailOf(started, two.id);
    expect((await setDefault(two.id)).status).toBe(200);
    expect(await trailOf(started, two.id)).toEqual(before);
    expect((await trailOf(started, one.id)).at(-1)?.data.changes).toEqual([
      { field: "isDefault", from: true, to: false },
    ]);
  });
});

test("a provider without credentials needs none; others do", async () => {
  await using started = await startApp({ engine: false });
  const files = await started.owner("POST", CONNECTIONS, { name: "Files", provider: "local_files" });
  expect([files.status, files.body.hasCredentials]).toEqual([201, false]);
  const config = { host: "db.test", database: "shop" };
  const database = await started.owner("POST", CONNECTIONS, { name: "Shop", provider: "postgres", config });
  expect(faultsOf(database)).toEqual(["body.credentials missing"]);
  const seller = await started.owner("POST", CONNECTIONS, {
    name: "Shop",
    provider: "amazon_seller",
    config: { region: "eu", marketplaceIds: ["A1PA6795UKMFR9"] },
    credentials: {},
  });
  const needed = ["clientId", "clientSecret", "refreshToken"];
  expect(faultsOf(seller)).toEqual(needed.map((field) => `body.credentials.${field} missing`));
});

describe("deleting a connection", () => {
  test("is rejected while actions or automations use it, and names them", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, localFiles("Files"));
    const work = {
      kind: "dlt_extract",
      connectionId: made.id,
      definition: { dataset: "shop", resources: [{ spec: "*.csv" }] },
    };
    const action = await started.owner("POST", "/api/v1/actions", { name: "Load the files", ...work });
    const automation = await started.owner("POST", "/api/v1/automations", {
      name: "Every morning",
      triggerType: "manual",
      config: { steps: [{ key: "load", ...work }] },
    });
    expect([action.status, automation.status]).toEqual([201, 201]);
    const remove = () => started.owner("DELETE", `${CONNECTIONS}/${made.id}`);
    const used = await remove();
    expect([used.status, used.body.code]).toEqual([409, "in_use"]);
    expect(used.body.detail).toContain('the action "Load the files" and the automation "Every morning"');
    expect(Object.keys(used.body).sort()).toEqual(["code", "correlationId", "detail"]);

    // A deleted action that has run is hidden: it doesn't block deleting the connection.
    expect((await started.owner("POST", `/api/v1/actions/${action.body.id}/run`)).status).toBe(201);
    expect((await started.owner("DELETE", `/api/v1/actions/${action.body.id}`)).status).toBe(204);
    expect((await remove()).body.detail).toContain('in use by the automation "Every morning"');
    expect((await started.owner("DELETE", `/api/v1/automations/${automation.body.id}`)).status).toBe(204);
    const gone = await remove();
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await started.owner("GET", `${CONNECTIONS}/${made.id}`)).status).toBe(404);
    expect((await remove()).status).toBe(404);
    expect((await started.owner("GET", CONNECTIONS)).body.total).toBe(0);
    expect((await trailOf(started, made.id)).at(-1)).toMatchObject({
      type: "connection.deleted",
      data: { slug: "files" },
    });
  });
});

describe("permissions", () => {
  const verbs = (id: string) =>
    [
      ["GET", `/${id}`],
      ["PATCH", `/${id}`, { name: "x" }],
      ["DELETE", `/${id}`],
      ["POST", `/${id}/disable`],
      ["POST", `/${id}/reactivate`],
      ["POST", `/${id}/verify`],
      ["POST", `/${id}/set-default`],
      ["GET", `/${id}/files`],
      ["PUT", `/${id}/files?path=/a.txt`, "hello"],
      ["POST", `/${id}/files/validate`, { selectedItems: ["/"] }],
      ["GET", `/${id}/schema/tables`],
      ["GET", `/${id}/schema/columns?schema=a&table=b`],
    ] as const;

  test("another organization's connection looks like one that never existed", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, localFiles("Files"));
    const other = await neighbour(started);
    const told = async (id: string) => {
      const answers = [];
      for (const [method, path, body] of verbs(id)) {
        const { status, body: said } = await other.call(method, CONNECTIONS + path, body);
        answers.push([method, status, said.detail, said.code]);
      }
      return answers;
    };
    const foreign = await told(made.id);
    expect(foreign.every(([, status]) => status === 404)).toBe(true);
    expect(foreign).toEqual(await told(RANDOM_ID));
    expect((await other.call("GET", `${CONNECTIONS}/slug/files`)).status).toBe(404);
    expect((await other.call("GET", CONNECTIONS)).body).toMatchObject({ connections: [], total: 0 });
    expect((await started.owner("GET", `${CONNECTIONS}/${made.id}`)).body).toEqual(made);
    for (const [method, path, body] of verbs("not-an-id")) {
      expect(faultsOf(await other.call(method, CONNECTIONS + path, body))).toEqual([
        "path.connection_id uuid_parsing",
      ]);
    }
  });

  test("viewers can read, members can change, and nobody has access without credentials", async () => {
    await using started = await startApp({ engine: false });
    const made = await connect(started.owner, localFiles("Files"));
    const viewer = await join(started, "viewer");
    const member = await join(started, "member");
    for (const [method, path, body] of [...verbs(made.id), ["POST", "", localFiles("More")] as const]) {
      const reads = method === "GET" || path.endsWith("/validate");
      expect([path, (await started.anonymous(method, CONNECTIONS + path, body)).status]).toEqual([path, 401]);
      expect([path, (await viewer.call(method, CONNECTIONS + path, body)).status === 403]).toEqual([
        path,
        !reads,
      ]);
    }
    expect((await viewer.call("GET", CONNECTIONS)).body.total).toBe(1);
    expect((await member.call("POST", `${CONNECTIONS}/${made.id}/verify`)).body.status).toBe("active");
    expect((await member.call("DELETE", `${CONNECTIONS}/${made.id}`)).status).toBe(204);
  });
});

test("each provider is described with the JSON Schemas of its config and credentials", async () => {
  await using started = await startApp({ engine: false });
  const { body } = await started.owner("GET", "/api/v1/connection-providers");
  expect(body.providers.map(({ id }: { id: string }) => id)).toEqual([
    "amazon_seller",
    "google_drive",
    "klaviyo",
    "local_files",
    "mysql",
    "postgres",
    "s3",
    "sftp",
    "shopify",
    "smtp",
  ]);
  const described = (id: string) => body.providers.find((each: { id: string }) => each.id === id);
  expect(described("postgres")).toMatchObject({
    title: "PostgreSQL",
    configSchema: {
      type: "object",
      required: ["host", "database"],
      properties: { port: { type: "integer", default: 5432 } },
    },
    credentialsSchema: { required: ["user"], properties: { password: { format: "password" } } },
    capabilities: { files: false, upload: false, schema: true, extract: true },
  });
  expect(described("shopify")).toMatchObject({
    title: "Shopify",
    configSchema: {
      required: ["shopDomain"],
      properties: { apiVersion: { default: "2026-01" }, baseUrl: {} },
    },
    credentialsSchema: {
      properties: { accessToken: { format: "password" }, clientId: {}, clientSecret: { format: "password" } },
    },
    capabilities: { files: false, upload: false, schema: true, extract: true },
  });
  expect(described("smtp").configSchema.required).toEqual(["host", "from"]);
  expect(described("klaviyo")).toMatchObject({
    title: "Klaviyo",
    configSchema: { properties: { revision: { default: "2025-10-15" }, baseUrl: {} } },
    credentialsSchema: { required: ["apiKey"], properties: { apiKey: { format: "password" } } },
    capabilities: { files: false, upload: false, schema: true, extract: true },
  });
  expect(described("local_files").capabilities).toMatchObject({ files: true, upload: true, schema: false });
});
