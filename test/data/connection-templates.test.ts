import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { HttpTemplate } from "../../src/providers/http-template/definition.ts";
import { services } from "../../src/resources/template-library/built-in/connections/all.ts";
import { DescribedService, startDescribed } from "../peers/described-api.ts";
import { ok, TEMPLATES } from "../support/bundles.ts";
import { signInFor } from "../support/connection-sign-ins.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { isDeep } from "../support/scale.ts";
import { startData } from "./place.ts";

setDefaultTimeout(240_000);

/** Number of rows of each list at first, and number added later. */
const FIRST = 8;
const MORE = 2;
/** Number of templates tested at once. */
const AT_ONCE = 8;

type Table = { table: string; rowsRead: number; inserted: number; rejected: number };
const countsOf = ({ table, rowsRead, inserted, rejected }: Table) => ({
  table,
  rowsRead,
  inserted,
  rejected,
});
const counts = (table: string, rowsRead: number, inserted: number): Table => ({
  table,
  rowsRead,
  inserted,
  rejected: 0,
});

/** At least one service for each way to sign in, page and request new rows. */
function oneOfEachWay() {
  const seen = new Set<string>();
  return services.filter(({ definition }) => {
    const { http } = definition as HttpTemplate;
    const ways = [
      http.auth.type,
      ...(http.resources ?? []).flatMap(({ endpoint }) => [
        endpoint?.paginator?.type,
        endpoint?.method,
        endpoint?.incremental &&
          `since in ${endpoint.incremental.in ?? "query"} as ${endpoint.incremental.format}`,
      ]),
    ].filter((way) => typeof way === "string" && !seen.has(way));
    for (const way of ways) seen.add(String(way));
    return ways.length > 0;
  });
}

/** All of them in the deep tier. */
const tried = isDeep ? services : oneOfEachWay();

let data: Awaited<ReturnType<typeof startData>>;
let peer: Awaited<ReturnType<typeof startDescribed>>;
const outcomes = new Map<string, Promise<void>>();
/** Tables, and their final number of rows. */
const kept: { table: string; rows: number }[] = [];

beforeAll(async () => {
  [data, peer] = await Promise.all([startData({ hurry: 30 }), startDescribed()]);
  const waiting = tried.map(({ slug }) => ({ slug, done: Promise.withResolvers<void>() }));
  for (const { slug, done } of waiting) {
    done.promise.catch(() => undefined); // Reported by the test that waits for it.
    outcomes.set(slug, done.promise);
  }
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      await tryOut(next.slug).then(next.done.resolve, next.done.reject);
  };
  void Promise.all(Array.from({ length: AT_ONCE }, work));
});
afterAll(async () => {
  await data[Symbol.asyncDispose]();
  await peer[Symbol.asyncDispose]();
});

const defaultsOf = (schema: HttpTemplate["configSchema"], given: Record<string, string>) => {
  const properties = (schema?.properties ?? {}) as Record<string, { default?: string }>;
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, given[name] ?? field.default ?? `some ${name}`]),
  );
};

const secretsOf = ({ credentialsSchema }: HttpTemplate, what: string) =>
  Object.fromEntries(
    Object.keys((credentialsSchema?.properties ?? {}) as object).map((name) => [
      name,
      `${what}-${name}-0123456789`,
    ]),
  );

/** Tests everything that a template declares, against a service built from it. */
async function tryOut(slug: string): Promise<void> {
  const template = ok(await data.owner("GET", `${TEMPLATES}/slug/${slug}`));
  const definition = template.definition as HttpTemplate;
  const own = `${peer.origin}/${slug}`;
  const addresses = { baseUrl: own, authorizeUrl: `${own}/-/authorize`, tokenUrl: `${own}/-/token` };
  const config = defaultsOf(definition.configSchema, addresses);
  const service = new DescribedService(definition, config, secretsOf(definition, "right"));
  peer.services.set(slug, service);
  service.grow(FIRST);

  const isSignedIn = definition.http.auth.type === "oauth2_authorization_code";
  const given = isSignedIn ? "right" : "wrong";
  const credentials = secretsOf(definition, given);
  const { id } = await connect(data.owner, { name: slug, templateSlug: slug, config, credentials });
  const verify = async () => ok(await data.owner("POST", `${CONNECTIONS}/${id}/verify`));
  if (Object.keys(credentials).length > 0) expect((await verify()).status).toBe("error");
  if (isSignedIn) await signInFor(data.app, id);
  else ok(await data.owner("PATCH", `${CONNECTIONS}/${id}`, { credentials: secretsOf(definition, "right") }));
  const verified = await verify();
  expect([verified.status, verified.verificationError]).toEqual(["active", null]);

  const names = service.resources.map(({ name }) => name);
  const { tables } = ok(await data.owner("GET", `${CONNECTIONS}/${id}/schema/tables`));
  expect(tables.map(({ spec }: { spec: string }) => spec)).toEqual(names);
  const dataset = slug.replaceAll("-", "_");
  const extract = await data.extract(id, {
    dataset,
    batchSize: 3,
    resources: names.map((spec) => ({ spec })),
  });
  const first = await extract.result();
  expect([first.warnings, service.faults]).toEqual([[], []]);
  expect(first.tables.map(countsOf)).toEqual(names.map((name) => counts(name, FIRST, FIRST)));

  const again = await readNewer(service, extract);
  service.revoke();
  if (isSignedIn) expect((await verify()).status).toBe("error");
  for (const name of names) {
    const table = name === dataset ? `raw.${dataset}` : `raw.${dataset}__${name}`;
    kept.push({ table, rows: again.includes(name) ? FIRST + MORE : FIRST });
  }
}

/** Runs it again if that has an effect. Returns the lists that it read. */
async function readNewer(
  service: DescribedService,
  extract: Awaited<ReturnType<typeof data.extract>>,
): Promise<string[]> {
  const newer = service.resources.filter(({ endpoint }) => endpoint?.incremental);
  const hasTokens = "tokenUrl" in service.definition.http.auth;
  const again = newer.length > 0 ? newer : service.resources.slice(0, hasTokens ? 1 : 0);
  if (again.length === 0) return [];
  service.asked.clear();
  service.grow(MORE);
  service.endTokens();
  const writeDisposition = newer.length > 0 ? "append" : "replace";
  const resources = again.map(({ name }) => ({ spec: name, writeDisposition }));
  const second = await extract.result({ resources });
  expect(service.faults).toEqual([]);
  for (const { name, endpoint } of newer) {
    const [asked] = service.asked.get(name) ?? [];
    const { startParam, in: where } = endpoint?.incremental ?? { startParam: "" };
    const since =
      where === "body"
        ? startParam.split(".").reduce((value, part) => value?.[part], asked?.body)
        : asked?.query.get(startParam);
    expect([name, service.isLast(name, FIRST, since)]).toEqual([name, true]);
  }
  const read = newer.length > 0 ? MORE + 1 : FIRST + MORE; // The row at the boundary is read again.
  const added = newer.length > 0 ? MORE : FIRST + MORE;
  expect(second.tables.map(countsOf)).toEqual(again.map(({ name }) => counts(name, read, added)));
  return again.map(({ name }) => name);
}

test.each(tried.map(({ slug }) => slug))(
  "the connection template %s works with a service built from its description",
  (slug) => outcomes.get(slug) as Promise<void>,
);

test("all rows of all lists have arrived, once each", async () => {
  await Promise.all(outcomes.values());
  const sql = kept.map(
    ({ table }, index) =>
      `select ${index} as i, count(*)::int as n, count(distinct a)::int as others from ${table}`,
  );
  const rows = await data.rows(sql.join(" union all "));
  const found = rows.map(({ i, n, others }) => ({ table: kept[i]?.table, rows: n, others }));
  const wanted = kept.map(({ table, rows }) => ({ table, rows, others: rows }));
  const byTable = (x: { table?: string }, y: { table?: string }) =>
    (x.table ?? "").localeCompare(y.table ?? "");
  expect(found.toSorted(byTable)).toEqual(wanted.toSorted(byTable));
  expect(kept.length).toBeGreaterThan(isDeep ? 250 : 50);
});
