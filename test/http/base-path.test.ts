import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { mountedRoutes } from "../../src/server.ts";
import { openTerminal } from "../cli/terminal.ts";
import { startGuarded } from "../peers/mcp-guarded.ts";
import { startOpenId } from "../peers/openid.ts";
import { client, startApp } from "../support/app.ts";
import { makeHook, sign } from "../support/hook.ts";
import { browser } from "../support/people.ts";
import { type Below, startBelow, WAYS } from "../support/proxy.ts";
import { deepTest } from "../support/scale.ts";
import { addGuarded, surferOf } from "../support/sign-ins.ts";
import { openSurfer } from "../support/surfer.ts";
import { branch } from "../support/work.ts";

const HTML = { accept: "text/html" };

/** What a page on its own host links to. */
const linked = (html: string) =>
  [...html.matchAll(/ (?:href|src)="(\/[^"]*)"/g)].map(([, path]) => path ?? "");

/** The files that a script or style of the page names. */
const named = (text: string) =>
  [...text.matchAll(/["'`(](\/[^"'`()\s]*assets\/[^"'`()\s]+)/g)].map(([, path]) => path ?? "");

describe.each(WAYS)("behind a proxy that %s", (way) => {
  let weir: Below;
  let peer: Awaited<ReturnType<typeof startOpenId>>;
  let anyone: ReturnType<typeof client>;
  let owner: ReturnType<typeof client>;
  beforeAll(async () => {
    peer = await startOpenId();
    weir = await startBelow(way, { env: peer.env });
    await peer.register(weir.site);
    anyone = client(weir.site);
    owner = client(weir.site, { authorization: `Bearer ${weir.token}` });
  });
  afterAll(async () => {
    await weir[Symbol.asyncDispose]();
    await peer[Symbol.asyncDispose]();
  });

  test("each operation responds below the base path, and at its own address on the machine", async () => {
    for (const call of [anyone, client(weir.direct), client(`${weir.direct}/weir`)]) {
      expect((await call("GET", "/health")).body).toEqual({ status: "ok" });
      expect((await call("HEAD", "/health")).status).toBe(200);
      const refused = await call("GET", "/api/v1/actions/7?limit=1");
      expect([refused.status, refused.body.code]).toEqual([401, "unauthenticated"]);
      const nothing = await call("GET", "/api/v1/nothing");
      expect([nothing.status, nothing.body.detail]).toEqual([404, "/api/v1/nothing not found."]);
      const other = await call("DELETE", "/health");
      expect([other.status, other.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
    const made = await owner("POST", "/api/v1/organizations/invitations", {
      email: "grace@example.com",
      roleSlug: "viewer",
    });
    expect(made.status).toBe(201);
    expect(made.body.inviteUrl).toStartWith(`${weir.site}/invite?token=`);
    expect((await client(weir.direct)("GET", "/weirdo/health")).status).toBe(404);
  });

  test("the page's files name each other below the base path, at every URL of the page", async () => {
    const { text, headers } = await anyone("GET", "/", undefined, HTML);
    expect(text).toContain('<html data-base="/weir" lang="en">');
    const deep = await anyone("GET", "/automations/01890a5d-ac96-774b-bcce-b302099a8057", undefined, HTML);
    expect(deep.text).toBe(text);
    const etag = headers.get("etag") ?? "";
    expect((await anyone("GET", "/", undefined, { "if-none-match": etag })).status).toBe(304);

    const seen = new Set<string>();
    const waiting = linked(text);
    expect(waiting.length).toBeGreaterThan(2);
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      expect(path).toStartWith("/weir/assets/");
      const file = await fetch(weir.host + path);
      expect([path, file.status]).toEqual([path, 200]);
      expect(file.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      if (!/\.(js|css)$/.test(path)) continue;
      const inside = await file.text();
      expect(inside).not.toMatch(/["'`(=]\/assets\//);
      waiting.push(...named(inside));
    }
    expect([...seen].filter((path) => path.endsWith(".js")).length).toBeGreaterThan(40);
    expect([...seen].filter((path) => path.endsWith(".woff2")).length).toBe(2);
  }, 120_000);

  test.each(["/login", "/setup", "/device", "/invite", "/invitations", "/forgot", "/reset", "/docs"])(
    "%s and its scripts lead nowhere outside it",
    async (place) => {
      const { status, text } = await anyone("GET", place);
      expect(status).toBe(200);
      expect(text).toContain('<html data-base="/weir" lang="en">');
      const waiting = linked(text);
      expect(waiting.length).toBeGreaterThan(1);
      for (const path of waiting) {
        expect(path).toStartWith("/weir/");
        const file = await client(weir.host)("GET", path);
        expect([path, file.status]).toEqual([path, 200]);
        if (!path.endsWith(".js")) continue;
        for (const imported of file.text.matchAll(/^import .* from "(.+)"/gm)) {
          expect(imported[1]).toStartWith("/weir/sign-in/");
          expect((await client(weir.host)("GET", imported[1] ?? "")).status).toBe(200);
        }
      }
    },
  );

  test("what leads to Weir contains the base path once", async () => {
    expect((await anyone("GET", "/openapi.json")).body.servers).toEqual([
      { url: "/weir", description: "This server" },
    ]);
    const codes = await anyone("POST", "/api/v1/auth/device/code", { client_id: "weir-cli" });
    expect(codes.body.verification_uri).toBe(`${weir.site}/device`);
    expect(codes.body.verification_uri_complete).toStartWith(`${weir.site}/device?user_code=`);
    const document = (await anyone("GET", "/api/v1/api-catalog/oauth/client.json")).body;
    expect([document.client_id, document.client_uri, document.redirect_uris]).toEqual([
      `${weir.site}/api/v1/api-catalog/oauth/client.json`,
      weir.site,
      [`${weir.site}/api/v1/api-catalog/oauth/callback`],
    ]);

    const hook = await makeHook(weir, { action: { kind: "conditional_branch", definition: branch() } });
    expect(hook.webhookUrl).toBe(`${weir.site}/webhooks/${weir.ids.organizationId}/orders`);
    const sent = await fetch(hook.webhookUrl, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-signature": `sha256=${sign("{}")}` },
      body: "{}",
    });
    expect([sent.status, ((await sent.json()) as { status: string }).status]).toEqual([200, "processed"]);

    const person = browser(weir.site);
    const entered = await person.signIn();
    expect(entered.headers.getSetCookie()[0]).toContain("; Path=/;");
    const linked = await person.call("GET", "/api/inbound/link-callback?token=abc", undefined, {
      "sec-fetch-mode": "navigate",
    });
    expect([linked.status, linked.headers.get("location")]).toEqual([303, "/weir/link?token=abc"]);
    const { items } = (await person.call("GET", "/api/v1/sessions")).body;
    expect(items[0].ipAddress).toBe("192.0.2.7");
    expect(weir.strays).toEqual([]);
  });

  test("a sign-in with the identity provider returns below the base path, and leads no further", async () => {
    const start = (place?: string) =>
      `${weir.site}/api/v1/auth/oidc/start${place === undefined ? "" : `?return_to=${encodeURIComponent(place)}`}`;
    const surfer = openSurfer();
    const ends = async (place?: string) => {
      const { url, status } = await surfer.go(start(place), "ada", { accept: "text/html" });
      return [status, url.href.replace(weir.host, "")];
    };
    expect(await ends()).toEqual([200, "/weir/"]);
    expect(await ends("/runs?status=failed")).toEqual([200, "/weir/runs?status=failed"]);
    expect(await ends("/weir/runs")).toEqual([200, "/weir/runs"]);
    expect(await ends(`${weir.site}/runs`)).toEqual([200, "/weir/runs"]);
    expect(await ends("/weir/../wiki")).toEqual([200, "/weir/wiki"]); // Weir's own page for paths that don't exist.
    const foreign = await client(weir.site)(
      "GET",
      `/api/v1/auth/oidc/start?return_to=${encodeURIComponent(`${weir.host}/wiki`)}`,
    );
    expect([foreign.status, foreign.body.detail[0].type]).toEqual([422, "foreign_address"]);

    const lost = await anyone("GET", "/api/v1/auth/oidc/callback?state=x", undefined, HTML);
    expect(lost.status).toBe(400);
    expect(linked(lost.text).sort()).toEqual([
      "/weir/login",
      "/weir/sign-in/page.css",
      "/weir/sign-in/shared.js",
    ]);
    expect(lost.text).toContain(`Start again at ${weir.site}/login.`);
    expect(weir.strays).toEqual([]);
  });

  test("a sign-in with an MCP server returns to its entry", async () => {
    await using guarded = await startGuarded();
    const { id } = await addGuarded(weir, guarded);
    const begun = await owner("POST", `/api/v1/api-catalog/${id}/authorize`, {});
    expect([begun.status, begun.text]).toEqual([200, expect.any(String)]);
    const surfer = await surferOf(weir);
    const landing = await surfer.go(begun.body.authorizationUrl, "grace", { accept: "text/html" });
    expect([landing.status, landing.url.href]).toEqual([200, `${weir.site}/catalog/${id}`]);
    expect(weir.strays).toEqual([]);
  });

  test("external agents and the command line find it there", async () => {
    const listed = await owner(
      "POST",
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { accept: "application/json, text/event-stream" },
    );
    expect(listed.status).toBe(200);
    expect(listed.text).toContain('"query"');

    using terminal = openTerminal(weir.site, weir.token);
    const me = await terminal.run("api", "GET", "/api/v1/users/me");
    expect([me.code, me.json.email]).toEqual([0, "ada@example.com"]);
    const status = await terminal.run("status", "--json", "--server", `${weir.site}/`);
    expect([status.code, status.json.server, status.json.health]).toEqual([0, weir.site, "ok"]);
  });
});

test("the setup link leads below the base path", async () => {
  await using weir = await startBelow(WAYS[0], { owner: false, engine: false });
  const token = await ensureSetupToken(weir.app);
  const { status, text } = await client(weir.app.baseUrl())("GET", `/setup?token=${token}`);
  expect(status).toBe(200);
  expect(text).toContain('src="/weir/sign-in/setup.js"');
});

deepTest("a separate host changes nothing for the page, and a deeper path works too", async () => {
  const page = async (env: Record<string, string>, path: string) => {
    await using weir = await startApp({ owner: false, engine: false, env });
    return (await weir.anonymous("GET", path, undefined, HTML)).text;
  };
  const plain = await page({}, "/");
  expect(plain).toContain('<html lang="en">');
  expect(await page({ WEIR_BASE_URL: "https://weir.example.com/" }, "/")).toBe(plain);
  expect(await page({ WEIR_BASE_URL: "https://example.com/tools/weir-2/" }, "/tools/weir-2/login")).toContain(
    '<html data-base="/tools/weir-2" lang="en">',
  );
});

describe("an invalid base path", () => {
  const read = (url: string) => readConfig({}, { WEIR_BASE_URL: url }, {});

  test("is rejected if one of Weir's own paths begins with it", () => {
    const routes = readFileSync(join(import.meta.dir, "../../web/routes.tsx"), "utf8");
    const names = new Set([
      "assets",
      ...mountedRoutes().map(({ path }) => path.split("/")[1] ?? ""),
      ...[...routes.matchAll(/route\("\/([\w-]+)/g)].map(([, name]) => name ?? ""),
    ]);
    expect(names.size).toBeGreaterThan(30);
    for (const name of names) {
      expect(() => read(`https://example.com/${name}`)).toThrow(/^Invalid WEIR_BASE_URL: "/);
      expect(() => read(`https://example.com/${name.toUpperCase()}/weir`)).toThrow(/such as \/weir/);
    }
    expect(() => read("https://example.com/api")).toThrow(
      'Invalid WEIR_BASE_URL: "https://example.com/api". Weir uses paths that start with /api itself. Use another path, such as /weir.',
    );
    expect(read("https://example.com/tools/api").config.baseUrl).toBe("https://example.com/tools/api");
  });

  test.each([
    "https://example.com/a.b",
    "https://example.com/weir/../x",
    "https://example.com//weir",
    "https://example.com/we%69r",
    "https://example.com/we ir",
    "https://example.com/{weir}",
    "https://example.com/:weir",
    "https://example.com/*",
    'https://example.com/"><script>',
    "https://example.com/weir?x=1",
    "https://example.com/weir#top",
    "https://example.com?x=1",
    "https:\\\\example.com\\weir",
  ])("is rejected with a sentence: %s", (url) => {
    expect(() => read(url)).toThrow(
      /^Invalid WEIR_BASE_URL: ".+"\. After the host, use no path, or one of letters, digits, - and _, such as \/weir\.$/,
    );
  });
});
