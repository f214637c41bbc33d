import { expect, test } from "bun:test";
import { parse } from "yaml";
import { startApp } from "../support/app.ts";
import { schemaMisfits } from "../support/schemas.ts";
import { folder } from "../support/shell.ts";
import { created } from "../support/work.ts";
import { terminal } from "./configuration.ts";

const later = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const board = (fields: string) => `weir: 1\ndashboards: [{ slug: shop, name: Shop, ${fields} }]\n`;

test("a public link keeps its expiry in files", async () => {
  using here = folder();
  await using one = await startApp({ engine: false });
  await using two = await startApp({ engine: false });
  const [from, to] = [terminal(here.path, one), terminal(here.path, two)];
  const shareExpiresAt = later(1);
  created(await one.owner("POST", "/api/v1/dashboards", { name: "Shop", sharing: "link", shareExpiresAt }));
  const { out: file } = await from.export();
  expect(schemaMisfits("config", parse(file))).toEqual([]);
  expect((await to.give(file)).code).toBe(0);
  const shown = async () => (await two.owner("GET", "/api/v1/dashboards")).body.dashboards[0];
  const { shareUrl, ...rest } = await shown();
  expect(rest).toMatchObject({ sharing: "link", shareExpiresAt });
  expect((await to.export()).out).toBe(file);
  const other = later(2);
  const asWritten = other.replace(".000Z", "Z").replace("Z", "+00:00");
  const text = board(`sharing: link, shareExpiresAt: "${asWritten}"`);
  expect((await to.give(text)).code).toBe(0);
  expect(await shown()).toMatchObject({ shareUrl, shareExpiresAt: other });
  expect((await to.give(text)).out).toEndWith("No changes.");
  expect((await to.give(board("sharing: link"))).code).toBe(0);
  expect(await shown()).toMatchObject({ shareUrl, shareExpiresAt: null });
});

test("a link that expired counts as none", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  const text = board(`sharing: link, shareExpiresAt: "2020-01-01T00:00:00Z"`);
  expect((await shell.give(text)).code).toBe(0);
  const shown = async () => (await app.owner("GET", "/api/v1/dashboards")).body.dashboards[0];
  expect(await shown()).toMatchObject({ sharing: "organization", shareExpiresAt: null });
  expect((await shell.give(text)).out).toEndWith("No changes.");
});
