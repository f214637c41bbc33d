import { expect, test } from "bun:test";
import { type Provider, secretsOf } from "../../src/providers/contract.ts";
import { mysql } from "../../src/providers/mysql.ts";
import { postgres } from "../../src/providers/postgres.ts";
import { providers } from "../../src/providers/registry.ts";

test("the user of a database may be told, its password never, and of other providers nothing", () => {
  const shop = { user: "shop", password: "long-password" };
  for (const database of [postgres, mysql]) expect(secretsOf(database, shop)).toEqual(["long-password"]);
  expect(secretsOf(postgres, { user: "same", password: "same" })).toEqual(["same"]);
  const open = [...providers.values()].filter(({ openCredentials }: Provider) => openCredentials);
  expect(open.map(({ id, openCredentials }) => [id, openCredentials]).sort()).toEqual([
    ["mysql", ["user"]],
    ["postgres", ["user"]],
  ]);
});
