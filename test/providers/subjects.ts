import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtractRequest, Link, Provider } from "../../src/providers/contract.ts";
import { providers } from "../../src/providers/registry.ts";
import { sellerKeys, sellerOrder, startSeller } from "../peers/amazon-seller.ts";
import { driveUser, FOLDER, startDrive } from "../peers/google-drive.ts";
import { startKlaviyo } from "../peers/klaviyo.ts";
import { mysqlUser, startMysql } from "../peers/mysql.ts";
import { startShopify } from "../peers/shopify.ts";
import { request, toldLink } from "../support/extract.ts";
import { instant, many, profile } from "../support/klaviyo.ts";
import { textOf } from "../support/link.ts";
import { startPostgres } from "../support/postgres.ts";
import { s3Keys, startS3 } from "../support/s3.ts";
import { LASTING, minute, order } from "../support/shopify.ts";
import { hasSshd, startSshd } from "../support/sshd.ts";

type Texts = Record<string, string>;

/** A provider with its peer, for tests that every provider must pass. */
export interface Subject {
  provider: Provider;
  isHttp: boolean;
  /** Whether the provider itself repeats a request after a temporary failure. */
  heals: boolean;
  request: ExtractRequest;
  port: number;
  credentials: Texts;
  /** Config to reach the peer at `port`. */
  config(port: number): object;
  /** Ways in which credentials are wrong. `undo` reverts what was changed at the peer. */
  wrong: Record<string, () => { credentials?: Texts; undo?(): void; isVerified?: boolean }>;
  /** Text in front of a string in its JSON. */
  garbled?: string;
  /** All rows have the same cursor value, over several pages, and the second one is deleted in between. */
  level?: { request: ExtractRequest; loseSecond(): void; rows: number; keep(): void };
  [Symbol.asyncDispose](): Promise<void>;
}

export const linkOf = (subject: Subject, port = subject.port, credentials = subject.credentials) =>
  toldLink({ ...(subject.config(port) as Record<string, string>) }, credentials);

/** Everything that an extract returns, as comparable texts. */
export async function readAll(
  { provider, request: own }: Subject,
  link: Link,
  asked = own,
): Promise<string[]> {
  const extraction = await provider.extract?.(link, asked);
  const found: string[] = [];
  if (extraction?.kind === "csv") found.push(await textOf(extraction.bytes));
  if (extraction?.kind === "rows")
    for await (const page of extraction.pages) found.push(...page.map((row) => JSON.stringify(row)));
  if (extraction?.kind === "files")
    for await (const { name, open } of extraction.files) found.push(`${name} ${await textOf(await open())}`);
  return found;
}

const portOf = (url: string) => Number(new URL(url).port);
const local = (port: number) => `http://127.0.0.1:${port}`;
const provider = (id: string): Provider => {
  const found = providers.get(id);
  if (!found) throw new Error(`There is no provider ${id}.`);
  return found;
};

async function openSftp(): Promise<Subject> {
  const peer = await startSshd();
  for (const name of ["a.csv", "b.csv"]) writeFileSync(join(peer.root, name), `id\n${"1\n".repeat(50_000)}`);
  const { user, hostKey, privateKey, root } = peer;
  return {
    ...{ provider: provider("sftp"), isHttp: false, heals: false, credentials: { user, privateKey } },
    request: request("*.csv"),
    port: peer.port,
    config: (port) => ({ host: "127.0.0.1", port, hostKey, root }),
    wrong: {
      "a stranger's key": () => ({ credentials: { user, privateKey: peer.strangerKey } }),
      "a wrong password": () => ({ credentials: { user, password: "a wrong password" } }),
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  };
}

/** Each provider with credentials, by ID. */
export const subjects: Record<string, () => Promise<Subject>> = {
  async shopify() {
    const peer = await startShopify({ maxQueryCost: 100_000 });
    peer.store.orders = many(60, (n) => order(n));
    const scopes = peer.state.scopes;
    const credentials = { accessToken: peer.token };
    return {
      ...{ provider: provider("shopify"), isHttp: true, heals: true, credentials },
      garbled: '"name":"',
      request: request("orders"),
      port: portOf(peer.baseUrl),
      config: (port) => ({ shopDomain: peer.shop, apiVersion: LASTING, baseUrl: local(port) }),
      wrong: {
        "a wrong token": () => ({ credentials: { accessToken: "shpat_another_one" } }),
        "a token that was withdrawn": () => {
          peer.state.instead = () => ({ status: 401 });
          return {
            undo: () => {
              peer.state.instead = () => null;
            },
          };
        },
        "too few scopes": () => {
          peer.state.scopes = ["read_products"];
          return {
            isVerified: true,
            undo: () => {
              peer.state.scopes = scopes;
            },
          };
        },
      },
      level: {
        request: request("orders", { range: { field: "updated_at", from: minute(1), to: null } }),
        rows: 60,
        keep() {
          peer.store.orders = many(60, (n) => order(n, { updatedAt: minute(9) }));
          peer.state.isRepeating = true;
        },
        loseSecond() {
          peer.state.afterPage = ({ name }) => {
            if (name === "orders")
              peer.store.orders = (peer.store.orders ?? []).filter(({ id }) => !id.endsWith("/2"));
          };
        },
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },

  ...(hasSshd ? { sftp: openSftp } : {}),

  async klaviyo() {
    const peer = await startKlaviyo();
    peer.store.profiles = many(230, profile);
    const scopes = peer.state.scopes;
    return {
      ...{ provider: provider("klaviyo"), isHttp: true, heals: true, credentials: { apiKey: peer.apiKey } },
      garbled: '"email":"',
      request: request("profiles"),
      port: portOf(peer.baseUrl),
      config: (port) => ({ baseUrl: local(port) }),
      wrong: {
        "a wrong key": () => ({ credentials: { apiKey: "pk_another_key_of_mine" } }),
        "a key that was withdrawn": () => {
          peer.state.instead = () => ({ status: 403 });
          return {
            undo: () => {
              peer.state.instead = () => null;
            },
          };
        },
        "too few scopes": () => {
          peer.state.scopes = ["accounts:read"];
          return {
            isVerified: true,
            undo: () => {
              peer.state.scopes = scopes;
            },
          };
        },
      },
      level: {
        request: request("profiles", { range: { field: "updated", from: instant(1), to: null } }),
        rows: 230,
        keep() {
          peer.store.profiles = many(230, (n) => profile(n, { updated: instant(9) }));
          peer.state.isRepeating = true;
        },
        loseSecond() {
          const gone = profile(2).id;
          peer.state.afterPage = () => {
            peer.store.profiles = (peer.store.profiles ?? []).filter(({ id }) => id !== gone);
          };
        },
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },

  async amazon_seller() {
    const peer = await startSeller();
    peer.orders.push(...many(5, (n) => sellerOrder(n)));
    peer.state.pageLimit = 2;
    return {
      ...{ provider: provider("amazon_seller"), isHttp: true, heals: true, credentials: sellerKeys },
      garbled: '"orderId":"',
      request: request("orders"),
      port: portOf(peer.baseUrl),
      config: (port) => ({ ...peer.config, baseUrl: local(port), tokenUrl: `${local(port)}/auth/o2/token` }),
      wrong: {
        "a wrong secret": () => ({ credentials: { ...sellerKeys, clientSecret: "another-secret" } }),
        "a refresh token that has expired": () => {
          peer.state.isRevoked = true;
          return {
            undo: () => {
              peer.state.isRevoked = false;
            },
          };
        },
        "a missing role": () => {
          peer.state.denied = ["/orders"];
          return {
            isVerified: true,
            undo: () => {
              peer.state.denied = [];
            },
          };
        },
      },
      level: {
        request: request("orders", {
          range: { field: "lastUpdatedTime", from: "2026-05-01T00:00:00Z", to: null },
        }),
        rows: 5,
        keep() {
          const lastUpdatedTime = "2026-05-01T00:09:00Z";
          peer.orders.splice(0, 5, ...many(5, (n) => sellerOrder(n, 1, { lastUpdatedTime })));
        },
        loseSecond: () => undefined, // Orders are never deleted there.
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },

  async google_drive() {
    const peer = await startDrive();
    const file = (id: string, parent: string) => ({
      ...{
        id,
        name: `${id}.csv`,
        mimeType: "text/csv",
        content: `id\n${id.repeat(400)}\n`,
        parents: [parent],
      },
    });
    peer.put(
      { id: "f1", name: "One", mimeType: FOLDER },
      file("a1", "f1"),
      file("a2", "f1"),
      file("b1", "my-drive"),
    );
    const scope = peer.state.scope;
    return {
      ...{ provider: provider("google_drive"), isHttp: true, heals: true, credentials: driveUser },
      garbled: '"name":"',
      request: request("**/*.csv"),
      port: portOf(peer.baseUrl),
      config: (port) => ({ baseUrl: local(port) }),
      wrong: {
        "a wrong secret": () => ({ credentials: { ...driveUser, clientSecret: "another-secret" } }),
        "a refresh token that has expired": () => {
          peer.state.isRevoked = true;
          return {
            undo: () => {
              peer.state.isRevoked = false;
            },
          };
        },
        "too few scopes": () => {
          peer.state.scope = "https://www.googleapis.com/auth/drive.metadata.readonly";
          return {
            undo: () => {
              peer.state.scope = scope;
            },
          };
        },
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },

  async s3() {
    const peer = await startS3();
    peer.createBucket("trouble");
    for (const name of ["a", "b", "c"]) await peer.put("trouble", `${name}.csv`, `id\n${name.repeat(400)}\n`);
    const refuse = (status: number, code: string) => () => {
      peer.interfere(() => ({ status, code }));
      return { undo: () => peer.interfere(() => null) };
    };
    return {
      ...{ provider: provider("s3"), isHttp: true, heals: true, credentials: s3Keys },
      request: request("*.csv"),
      port: portOf(peer.endpointUrl),
      config: (port) => ({ bucket: "trouble", endpointUrl: local(port), forcePathStyle: true }),
      wrong: {
        "a wrong secret": () => ({ credentials: { ...s3Keys, secretAccessKey: "another-secret" } }),
        "keys that have expired": refuse(400, "ExpiredToken"),
        "keys that may not list": refuse(403, "AccessDenied"),
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },

  async postgres() {
    const peer = await startPostgres();
    await peer.sql.unsafe(`
      create table t as select i as id, repeat(md5(i::text), 20) as word from generate_series(1, 500) i;
      create role nobody_much login password 'little-to-say'`);
    const { host, database, user, password } = peer;
    return {
      ...{ provider: provider("postgres"), isHttp: false, heals: false, credentials: { user, password } },
      request: request("public.t"),
      port: peer.port,
      config: (port) => ({ host, port, database, sslMode: "disable" }),
      wrong: {
        "a wrong password": () => ({ credentials: { user, password: "another-password" } }),
        "a user that may not read": () => ({
          isVerified: true,
          credentials: { user: "nobody_much", password: "little-to-say" },
        }),
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },

  async mysql() {
    const peer = await startMysql();
    peer.table(
      "shop",
      "t",
      { id: "int", word: "text" },
      many(300, (n) => [n, "word ".repeat(20)]),
    );
    return {
      ...{ provider: provider("mysql"), isHttp: false, heals: false, credentials: mysqlUser },
      request: request("t"),
      port: peer.config.port,
      config: (port) => ({ ...peer.config, port, sslMode: "disable" }),
      wrong: {
        "a wrong password": () => ({ credentials: { ...mysqlUser, password: "another-password" } }),
        "a user that is let in no more": () => {
          peer.state.refusal = { code: 1045, message: "Access denied for user" };
          return {
            undo: () => {
              peer.state.refusal = null;
            },
          };
        },
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  },
};
