import { expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";
import { describeConfig } from "../../src/config-shown.ts";
import { openSmtp } from "../../src/mail/smtp.ts";
import { startSmtp } from "../peers/smtp.ts";

const from = "Weir <weir@example.com>";
const egress = { allow: [], self: () => null };
const letter = { to: "grace@example.com", subject: "Grüße", text: "A line.\n\nAnother, with ü and =.\n" };

test("an email is sent over STARTTLS with a sign-in, although the server is on a private address", async () => {
  await using peer = await startSmtp({ user: "weir@example.com", password: "p@ss/w:rd" });
  const url = `smtp://weir%40example.com:p%40ss%2Fw%3Ard@localhost:${peer.port}`;
  await openSmtp({ url, from, egress, ca: peer.authority }).send(letter);
  expect(peer.received).toMatchObject([
    {
      from: "weir@example.com",
      to: ["grace@example.com"],
      isSecure: true,
      user: "weir@example.com",
      text: letter.text,
    },
  ]);
  expect(peer.received[0]?.headers).toMatchObject({
    from,
    to: "grace@example.com",
    subject: "=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=",
    "content-type": "text/plain; charset=utf-8",
    "auto-submitted": "auto-generated",
  });
});

test("smtps:// uses TLS from the first byte", async () => {
  await using peer = await startSmtp({ secure: true });
  await openSmtp({ url: `smtps://localhost:${peer.port}`, from, egress, ca: peer.authority }).send(letter);
  expect(peer.received).toMatchObject([{ isSecure: true, user: null }]);
});

test("nothing is sent unencrypted unless ?tls=off says so", async () => {
  await using peer = await startSmtp({ disabledCommands: ["STARTTLS", "AUTH"] });
  const url = `smtp://localhost:${peer.port}`;
  const refused = openSmtp({ url, from, egress, ca: peer.authority }).send(letter);
  await expect(refused).rejects.toMatchObject({
    code: "upstream",
    message: expect.stringContaining("STARTTLS"),
  });
  expect(peer.received).toEqual([]);
  await openSmtp({ url: `${url}?tls=off`, from, egress }).send(letter);
  expect(peer.received).toMatchObject([{ isSecure: false }]);
});

test("an untrusted certificate is rejected", async () => {
  await using peer = await startSmtp();
  const sent = openSmtp({ url: `smtp://localhost:${peer.port}`, from, egress }).send(letter);
  await expect(sent).rejects.toMatchObject({
    code: "upstream",
    message: expect.stringContaining("certificate"),
  });
  expect(peer.received).toEqual([]);
});

test("a wrong password, a refused recipient and a dead server are reported in one sentence without the password", async () => {
  await using guarded = await startSmtp({ user: "weir", password: "right" });
  await using picky = await startSmtp({
    onRcptTo: ({ address }, _session, done) => done(new Error(`${address} is unknown here`)),
  });
  await using busy = await startSmtp({
    user: "weir",
    onAuth: (_auth, _session, done) =>
      done(Object.assign(new Error("Try again later"), { responseCode: 454 })),
  });
  const send = (authority: string, ca: string) =>
    openSmtp({ url: `smtp://${authority}`, from, egress, ca }).send(letter);
  const told = [
    [
      `weir:wrong-secret@localhost:${guarded.port}`,
      guarded.authority,
      "username or password of WEIR_SMTP_URL",
    ],
    [`weir:wrong-secret@localhost:${busy.port}`, busy.authority, "rejected the email: 454 Try again later"],
    [`localhost:${picky.port}`, picky.authority, "grace@example.com is unknown here"],
    ["weir:wrong-secret@127.0.0.1:1", picky.authority, "127.0.0.1:1"],
  ] as const;
  for (const [authority, ca, words] of told) {
    const error = await send(authority, ca).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "upstream", message: expect.stringContaining(words) });
    expect(String(error)).not.toContain("wrong-secret");
  }
});

test("a recipient can't add another one, or a header", async () => {
  await using peer = await startSmtp();
  const mailer = openSmtp({ url: `smtp://localhost:${peer.port}`, from, egress, ca: peer.authority });
  await mailer.send({ ...letter, subject: "One\r\nBcc: eve@example.com" });
  expect(peer.received[0]?.to).toEqual(["grace@example.com"]);
  expect(peer.received[0]?.headers.bcc).toBeUndefined();
});

test("the settings depend on each other, are checked, and show no password", () => {
  const read = (env: Record<string, string>) => readConfig({}, env, {});
  const good = { WEIR_SMTP_URL: "smtps://weir:hidden-one@mail.example.com:465", WEIR_MAIL_FROM: from };
  const { config, secrets } = read(good);
  const shown = Object.fromEntries(describeConfig(config, secrets));
  expect(shown.WEIR_SMTP_URL).toBe("smtps://weir:***@mail.example.com:465");
  expect(shown.WEIR_MAIL_FROM).toBe(from);
  expect(JSON.stringify(config)).not.toContain("hidden-one");
  for (const name of ["WEIR_SMTP_URL", "WEIR_MAIL_FROM"] as const)
    expect(() => read({ ...good, [name]: "" })).toThrow(`or neither. ${name} is missing`);
  for (const url of [
    "mail.example.com",
    "https://mail.example.com",
    "smtp://",
    "smtp://mail.example.com?tls=no",
    "smtps://mail.example.com?tls=off",
    "smtp://mail.example.com/inbox",
    "smtp://user@mail.example.com",
    "smtp://user:100%@mail.example.com",
  ]) {
    const refused = () => read({ ...good, WEIR_SMTP_URL: url });
    expect(refused).toThrow(/^Invalid WEIR_SMTP_URL\..*smtps?:\/\/user:password@host:port/);
  }
  for (const address of [
    "weir",
    "Weir <weir>",
    "a@example.com, b@example.com",
    "a@example.com\nBcc: b@example.com",
  ])
    expect(() => read({ ...good, WEIR_MAIL_FROM: address })).toThrow("WEIR_MAIL_FROM");
});
