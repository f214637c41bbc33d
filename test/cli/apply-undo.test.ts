import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { folder } from "../support/shell.ts";
import { created } from "../support/work.ts";
import { terminal } from "./configuration.ts";

/** Only the server knows that there is no such filter. */
const REJECTED =
  "{ slug: wrong, name: Wrong, panels: [{ key: a, title: A, sql: SELECT 1, clickFilters: { n: none } }] }";

test("a failed apply leaves the default connection as it was", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  const connection = (slug: string, isDefault: boolean) =>
    `  - { slug: ${slug}, name: ${slug}, provider: local_files, default: ${isDefault} }\n`;
  const start = `weir: 1\nconnections:\n${connection("old", true)}${connection("next", false)}`;
  expect((await shell.give(start)).code).toBe(0);
  for (const slug of ["next", "new"]) {
    const failed = await shell.give(
      `weir: 1\nconnections:\n${connection(slug, true)}dashboards: [${REJECTED}]\n`,
    );
    expect([failed.code, failed.err]).toEqual([1, expect.not.stringContaining("Could not roll back")]);
    const { connections } = (await app.owner("GET", "/api/v1/connections")).body;
    expect(connections.map((one: Record<string, unknown>) => [one.slug, one.isDefault]).sort()).toEqual([
      ["next", false],
      ["old", true],
    ]);
  }
  expect((await shell.give(`weir: 1\nconnections:\n${connection("next", true)}`)).code).toBe(0);
  expect((await app.owner("GET", "/api/v1/connections/slug/next")).body.isDefault).toBe(true);
});

test("a failed apply leaves a dashboard's public link as it was", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  const shareExpiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { id } = created(
    await app.owner("POST", "/api/v1/dashboards", { name: "Shop", sharing: "link", shareExpiresAt }),
  );
  const before = (await app.owner("GET", `/api/v1/dashboards/${id}`)).body;
  const text = "weir: 1\ndashboards: [{ slug: shop, name: The shop }]\n";
  const failed = await shell.give(text.replace("]", `, ${REJECTED}]`));
  expect([failed.code, failed.err]).toEqual([1, expect.stringContaining("Earlier changes were rolled back")]);
  const { shareUrl, name } = (await app.owner("GET", `/api/v1/dashboards/${id}`)).body;
  expect([shareUrl, name]).toEqual([before.shareUrl, "Shop"]);
  expect((await app.owner("GET", `/api/v1/dashboards/${id}`)).body.shareExpiresAt).toBe(shareExpiresAt);
  expect((await shell.give(text)).code).toBe(0);
  const after = (await app.owner("GET", `/api/v1/dashboards/${id}`)).body;
  expect([after.sharing, after.shareUrl, after.name]).toEqual(["organization", null, "The shop"]);
});
