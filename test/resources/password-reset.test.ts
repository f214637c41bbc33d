import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { passwordResets } from "../../src/resources/password-reset/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { PASSWORD, startApp } from "../support/app.ts";
import { startWithMail } from "../support/mail.ts";
import { browser, join, turnOnSecondFactor } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";

const FORGOT = "/api/v1/auth/forgot";
const RESET = "/api/v1/auth/reset";
const ADA = "ada@example.com";
const NEW_PASSWORD = "a new one of some length";
const HOUR_MS = 60 * 60 * 1000;

type Mailed = Awaited<ReturnType<typeof startWithMail>>;

const waitFor = async (isSo: () => boolean) => {
  while (!isSo()) await Bun.sleep(5);
};

/** Requests a link, and waits for its email. */
async function ask(app: Mailed, email = ADA): Promise<string> {
  const before = app.peer.received.length;
  const asked = await app.anonymous("POST", FORGOT, { email });
  expect([asked.status, asked.text]).toEqual([202, ""]);
  await waitFor(() => app.peer.received.length > before);
  return app.peer.linkTo(email).searchParams.get("token") ?? "";
}

describe("a forgotten password", () => {
  test("is replaced by an emailed link, once; all previous access ends, and the address is proven", async () => {
    await using app = await startWithMail();
    await app.app.store.write(async (db) => void (await db.update(users).set({ addressProvenAt: null })));
    const page = browser(app.origin);
    await page.signIn();
    const token = await ask(app);
    const [mail] = app.peer.received;
    expect([mail?.to, mail?.headers.subject]).toEqual([[ADA], "New password for Weir"]);
    expect(app.peer.linkTo(ADA).href).toBe(`${app.origin}/reset?token=${token}`);
    expect(JSON.stringify(await app.app.store.db.select().from(passwordResets))).not.toContain(token);

    const set = await app.anonymous("POST", RESET, { token, password: NEW_PASSWORD });
    expect([set.status, set.text, set.headers.getSetCookie()]).toEqual([204, "", []]);
    for (const call of [page.call, app.owner])
      expect((await call("GET", "/api/v1/users/me")).status).toBe(401);
    expect((await browser(app.origin).signIn(ADA, PASSWORD)).status).toBe(401);
    expect((await browser(app.origin).signIn(ADA, NEW_PASSWORD)).status).toBe(200);
    const [ada] = await app.app.store.db.select().from(users).where(eq(users.email, ADA));
    expect(ada?.addressProvenAt).not.toBeNull();
    const again = await app.anonymous("POST", RESET, { token, password: PASSWORD });
    expect([again.status, again.body.code]).toEqual([410, "gone"]);
  });

  test("keeps the second factor on: the new password alone doesn't sign in", async () => {
    await using app = await startWithMail({ stands: true });
    const { code } = await turnOnSecondFactor(app);
    const token = await ask(app);
    expect((await app.anonymous("POST", RESET, { token, password: NEW_PASSWORD })).status).toBe(204);
    const credentials = { email: ADA, password: NEW_PASSWORD };
    const alone = await app.anonymous("POST", "/api/v1/auth/login", credentials);
    expect([alone.status, alone.body.code]).toEqual([401, "second_factor_required"]);
    const both = await app.anonymous("POST", "/api/v1/auth/login", { ...credentials, code: code(1) });
    expect(both.status).toBe(200);
  });

  test("asks no question that others could answer: only an address, and then the link's token", async () => {
    await using app = await startWithMail();
    const answer = { question: "first pet", answer: "Rex" };
    for (const [path, body] of [
      [FORGOT, { email: ADA, ...answer }],
      [RESET, { token: await ask(app), password: NEW_PASSWORD, ...answer }],
      ["/api/v1/auth/login", { email: ADA, password: PASSWORD, ...answer }],
    ] as const) {
      const { status, body: told } = await app.anonymous("POST", path, body);
      expect([path, status, ...told.detail.map(({ loc }: { loc: string[] }) => loc[1])]).toEqual([
        path,
        422,
        "question",
        "answer",
      ]);
    }
  });

  test("has the same response for an unknown address, and sends no email", async () => {
    await using app = await startWithMail();
    const unknown = await app.anonymous("POST", FORGOT, { email: "nobody@example.com" });
    const known = await app.anonymous("POST", FORGOT, { email: ADA });
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
    await waitFor(() => app.peer.received.length > 0);
    expect(app.peer.received.map(({ to }) => to)).toEqual([[ADA]]);
    expect(await app.app.store.db.$count(passwordResets)).toBe(1);
  });

  test("has links that last an hour, end together, and don't end by a password that is too short", async () => {
    await using app = await startWithMail();
    const old = await ask(app);
    app.clock.turn(HOUR_MS);
    expect((await app.anonymous("POST", RESET, { token: old, password: NEW_PASSWORD })).status).toBe(410);
    const [first, second] = [await ask(app), await ask(app)];
    const short = await app.anonymous("POST", RESET, { token: first, password: "elevenchars" });
    expect([short.status, short.body.detail[0].loc]).toEqual([422, ["body", "password"]]);
    expect((await app.anonymous("POST", RESET, { token: second, password: NEW_PASSWORD })).status).toBe(204);
    expect((await app.anonymous("POST", RESET, { token: first, password: PASSWORD })).status).toBe(410);
  });

  test("has links that end when the password is changed", async () => {
    await using app = await startWithMail();
    const token = await ask(app);
    const change = { currentPassword: PASSWORD, newPassword: "a third one of some length", endTokens: false };
    expect((await app.owner("POST", "/api/v1/users/me/password", change)).status).toBe(204);
    expect((await app.anonymous("POST", RESET, { token, password: NEW_PASSWORD })).status).toBe(410);
    expect((await browser(app.origin).signIn(ADA, change.newPassword)).status).toBe(200);
  });

  deepTest("is replaced by one of many at once", async () => {
    await using app = await startWithMail();
    const token = await ask(app);
    const all = await Promise.all(
      [1, 2, 3].map(() => app.anonymous("POST", RESET, { token, password: NEW_PASSWORD })),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([204, 410, 410]);
  });

  test("doesn't flood a mailbox", async () => {
    await using app = await startWithMail({ stands: true });
    for (let n = 0; n < 5; n++) await app.anonymous("POST", FORGOT, { email: ADA });
    await waitFor(() => app.logged.join().split("too many emails").length > 2);
    await waitFor(() => app.peer.received.length === 3);
  });

  test("is logged if no mail server is configured", async () => {
    await using app = await startApp({ engine: false });
    expect((await app.anonymous("POST", FORGOT, { email: ADA })).status).toBe(202);
    await waitFor(() => app.logged.join().includes("no mail server is configured"));
  });

  test("of a user who signs in elsewhere can be set too, and doesn't affect other users", async () => {
    await using app = await startWithMail();
    const { user } = await join(app, "viewer");
    const token = await ask(app, user.email);
    expect((await app.anonymous("POST", RESET, { token, password: NEW_PASSWORD })).status).toBe(204);
    expect((await browser(app.origin).signIn(user.email, NEW_PASSWORD)).status).toBe(200);
    expect((await app.owner("GET", "/api/v1/users/me")).status).toBe(200);
  });

  test("is offered at sign-in if a mail server is set", async () => {
    await using app = await startWithMail();
    expect((await app.anonymous("GET", "/login")).text).toContain(
      '<a href="/forgot">Forgot your password?</a>',
    );
    await using silent = await startApp({ engine: false });
    expect((await silent.anonymous("GET", "/login")).text).not.toContain("/forgot");
  });
});
