import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { events } from "../../src/resources/events/table.ts";
import { users } from "../../src/resources/users/table.ts";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { startWithMail } from "../support/mail.ts";
import { browser, join, neighbour, turnOnSecondFactor } from "../support/people.ts";

const INVITATIONS = "/api/v1/organizations/invitations";
const ACCEPT = "/api/v1/auth/invitations/accept";
const OWN = "/api/v1/users/me/invitations";
const ME = "/api/v1/users/me";
const TEAM = "/api/v1/organizations/team";
const CEO = "ceo@example.com";
const HERS = "mallory knows this one";

type Started = Awaited<ReturnType<typeof startApp>>;

const tokenOf = (url: string | URL) => new URL(url).searchParams.get("token") ?? "";

async function invite(call: Started["owner"], email: string, roleSlug = "member") {
  const made = await call("POST", INVITATIONS, { email, roleSlug });
  expect(made.status).toBe(201);
  return { ...made.body, token: tokenOf(made.body.inviteUrl) };
}

/** Mallory creates an account with the CEO's address, by an invitation to her own organization. */
async function squat(app: Started) {
  const mallory = await neighbour(app);
  const { token } = await invite(mallory.call, CEO, "viewer");
  const page = browser(app.origin);
  expect((await page.call("POST", ACCEPT, { token, password: HERS })).status).toBe(201);
  const pat = (await page.call("POST", "/api/v1/access-tokens", { name: "old", organizations: "all" })).body;
  await turnOnSecondFactor(app, page.call);
  return { mallory, page, old: client(app.origin, { authorization: `Bearer ${pat.token}` }) };
}

const provenAt = async ({ app }: Started, email: string) =>
  (await app.store.db.select().from(users).where(eq(users.email, email)))[0]?.addressProvenAt ?? null;

describe("an account that someone created in another's name", () => {
  test("neither sees nor accepts the address's invitations", async () => {
    await using app = await startWithMail();
    const { page, old } = await squat(app);
    expect(await provenAt(app, CEO)).toBeNull();
    const { id } = await invite(app.owner, CEO, "owner");
    for (const call of [page.call, old]) {
      for (const answer of [
        await call("GET", OWN),
        await call("POST", `${OWN}/${id}/accept`),
        await call("POST", `${OWN}/${id}/decline`),
      ]) {
        expect([answer.status, answer.body.code]).toEqual([403, "forbidden"]);
        expect(answer.body.detail).toContain(`The address ${CEO} isn't verified yet`);
      }
    }
    expect((await app.owner("GET", TEAM)).body.members).toHaveLength(1);
  });

  test("is taken over by the emailed link, and all previous access ends", async () => {
    await using app = await startWithMail();
    const { mallory, page, old } = await squat(app);
    await invite(app.owner, CEO, "owner");
    const token = tokenOf(app.peer.linkTo(CEO));
    const ceo = browser(app.origin);
    const missing = await ceo.call("POST", ACCEPT, { token });
    expect([missing.status, missing.body.detail[0].loc]).toEqual([422, ["body", "password"]]);
    const joined = await ceo.call("POST", ACCEPT, { token, password: PASSWORD, firstName: "Carol" });
    expect([joined.status, joined.body.firstName]).toEqual([200, "Carol"]);
    expect(await provenAt(app, CEO)).not.toBeNull();
    expect((await browser(app.origin).signIn(CEO)).status).toBe(200);

    const here = { "x-organization-id": app.ids.organizationId };
    for (const call of [page.call, old]) expect((await call("GET", TEAM, undefined, here)).status).toBe(401);
    expect((await browser(app.origin).signIn(CEO, HERS)).status).toBe(401);
    expect((await browser(app.origin).signIn(CEO, PASSWORD)).status).toBe(200);
    const { items } = (await ceo.call("GET", `${ME}/memberships`)).body;
    expect(items).toMatchObject([
      { organization: { id: app.ids.organizationId }, role: "owner", isDefault: true, isCurrent: true },
      { organization: { id: mallory.organization.id }, role: "viewer", isDefault: false },
    ]);
    const trail = await app.app.store.db
      .select()
      .from(events)
      .where(eq(events.organizationId, mallory.organization.id));
    expect(trail.map(({ type, data }) => ({ type, data })).slice(-4)).toMatchObject([
      {
        type: "user.updated",
        data: {
          changes: [
            { field: "password", from: "***", to: "***" },
            { field: "addressProven", from: false, to: true },
          ],
        },
      },
      { type: "user.updated", data: { changes: [{ field: "secondFactor", from: "on", to: "off" }] } },
      { type: "auth.token_revoked" },
      { type: "auth.logout" },
    ]);
  });

  test("isn't opened by the link that the inviter sees", async () => {
    await using app = await startApp({ engine: false });
    await squat(app);
    const { token } = await invite(app.owner, CEO, "owner");
    for (const body of [{ token }, { token, password: PASSWORD }]) {
      const refused = await app.anonymous("POST", ACCEPT, body);
      expect([refused.status, refused.body.code]).toEqual([401, "unauthenticated"]);
      expect(refused.body.detail).toContain(`weir reset-password ${CEO}`);
      expect(refused.headers.getSetCookie()).toEqual([]);
    }
    expect((await app.owner("GET", TEAM)).body.members).toHaveLength(1);
  });
});

describe("the emailed link", () => {
  test("differs from the inviter's, goes only to the address, and says who invites whom where", async () => {
    await using app = await startWithMail();
    const made = await invite(app.owner, "grace@example.com", "admin");
    expect(made).not.toHaveProperty("warnings");
    const link = app.peer.linkTo("grace@example.com");
    expect(link.href).toStartWith(`${app.origin}/invite?token=`);
    expect(tokenOf(link)).not.toBe(made.token);
    const [mail] = app.peer.received;
    expect([mail?.to, mail?.headers.subject]).toEqual([["grace@example.com"], "Invitation to Acme on Weir"]);
    expect(mail?.text).toContain(
      'Ada Lovelace (ada@example.com) invites you to join the organization "Acme"',
    );
    const joined = await app.anonymous("POST", ACCEPT, { token: tokenOf(link), password: PASSWORD });
    expect(joined.status).toBe(201);
    expect(await provenAt(app, "grace@example.com")).not.toBeNull();
    const after = await app.anonymous("POST", ACCEPT, { token: made.token, password: PASSWORD });
    expect(after.status).toBe(410);
  });

  test("opens no account with a proven address: that needs its own sign-in", async () => {
    await using app = await startWithMail();
    const other = await neighbour(app);
    await invite(app.owner, other.user.email);
    const token = tokenOf(app.peer.linkTo(other.user.email));
    const guessed = await app.anonymous("POST", ACCEPT, { token, password: PASSWORD });
    expect([guessed.status, guessed.body.detail]).toEqual([
      401,
      expect.stringContaining("Forgot your password?"),
    ]);
    expect((await other.call("POST", ACCEPT, { token })).status).toBe(200);
    expect((await other.call("GET", ME)).status).toBe(200);
  });

  test("contains no line and no link from an organization's name", async () => {
    await using app = await startWithMail();
    const name = "Prize\nhttps://evil.example/win";
    await app.owner("PATCH", "/api/v1/organizations/current", { name });
    await invite(app.owner, "grace@example.com");
    expect(app.peer.received[0]?.text.match(/https?:\/\//g)).toHaveLength(1);
    expect(app.peer.received[0]?.text).toContain('"Prize https: //evil.example/win"');
  });

  test("is the only URL in the email's HTML, which contains no markup from a name", async () => {
    await using app = await startWithMail();
    const name = `A&B <img src="//evil.example/x.png"> </body><a href='https://evil.example'>free</a>`;
    await app.owner("PATCH", "/api/v1/organizations/current", { name });
    await invite(app.owner, "grace@example.com");
    const [mail] = app.peer.received;
    const html = mail?.html ?? "";
    const link = app.peer.linkTo("grace@example.com").href;
    expect(html.match(/https?:\/\/[^"]+|src=(?!&quot;)|url\(/g)).toEqual([link]);
    expect(html.match(/<(?:a|img|script|link)\b/g)).toEqual(["<a"]);
    expect(html).toContain("A&amp;B &lt;img src=&quot;//evil.example/x.png&quot;&gt;");
    expect(mail?.headers["content-type"]).toStartWith("multipart/alternative");
  });

  test("that can't be sent is reported with the invitation, which stays valid", async () => {
    await using silent = await startApp({ engine: false });
    const [warning] = (await invite(silent.owner, "grace@example.com")).warnings;
    expect(warning).toBe(
      "Couldn't send the email to grace@example.com: no mail server is configured (WEIR_SMTP_URL and WEIR_MAIL_FROM). Send the link yourself.",
    );
    await using app = await startWithMail();
    await app.peer[Symbol.asyncDispose]();
    const made = await invite(app.owner, "grace@example.com");
    expect(made.warnings).toEqual([expect.stringContaining("The mail server localhost:")]);
    expect(app.logged.join()).toContain("email not sent");
    expect((await app.anonymous("POST", ACCEPT, { token: made.token, password: PASSWORD })).status).toBe(201);
  });

  test("is sent once per Idempotency-Key", async () => {
    await using app = await startWithMail();
    const once = { "idempotency-key": "invite-grace" };
    const send = () => app.owner("POST", INVITATIONS, { email: "grace@example.com" }, once);
    expect((await send()).text).toBe((await send()).text);
    expect(app.peer.received).toHaveLength(1);
  });
});

describe("a user's own invitations", () => {
  test("are listed, accepted and declined by a user with a proven address", async () => {
    await using app = await startApp({ engine: false });
    const [me, first, second] = [await join(app, "viewer"), await neighbour(app), await neighbour(app)];
    const wanted = await invite(first.call, me.user.email, "admin");
    const unwanted = await invite(second.call, me.user.email);
    const list = await me.call("GET", OWN);
    expect(list.body).toEqual({
      items: [
        {
          id: wanted.id,
          organization: { id: first.organization.id, name: "Neighbour", slug: first.organization.slug },
          roleSlug: "admin",
          invitedBy: {
            id: first.user.id,
            email: first.user.email,
            firstName: first.user.firstName,
            lastName: null,
          },
          createdAt: wanted.createdAt,
          expiresAt: wanted.expiresAt,
        },
        expect.objectContaining({ id: unwanted.id, roleSlug: "member" }),
      ],
    });
    const joined = await me.call("POST", `${OWN}/${wanted.id}/accept`);
    expect([joined.status, joined.body]).toMatchObject([
      200,
      { role: "admin", isDefault: false, organization: { id: first.organization.id } },
    ]);
    expect((await me.call("POST", `${OWN}/${unwanted.id}/decline`)).status).toBe(204);
    expect((await me.call("GET", OWN)).body).toEqual({ items: [] });
    for (const { id, token } of [wanted, unwanted]) {
      expect((await me.call("POST", `${OWN}/${id}/accept`)).status).toBe(404);
      expect((await me.call("POST", ACCEPT, { token })).status).toBe(410);
    }
    const trail = await app.app.store.db
      .select()
      .from(events)
      .where(eq(events.organizationId, second.organization.id));
    expect(trail.at(-1)).toMatchObject({
      type: "organization.invitation_withdrawn",
      entityId: unwanted.id,
      actorId: me.user.id,
      data: { cause: "declined" },
    });
  });

  test("are no one else's", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    const { id } = await invite(app.owner, other.user.email);
    const third = await join(app, "admin");
    expect((await third.call("GET", OWN)).body).toEqual({ items: [] });
    expect((await third.call("POST", `${OWN}/${id}/accept`)).status).toBe(404);
    expect((await third.call("POST", `${OWN}/${id}/decline`)).status).toBe(404);
  });
});
