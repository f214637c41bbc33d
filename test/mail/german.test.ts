import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join as pathOf } from "node:path";
import german from "../../src/mail/de.json" with { type: "json" };
import { ask } from "../support/decisions.ts";
import { startWithMail } from "../support/mail.ts";
import { join } from "../support/people.ts";

const project = pathOf(import.meta.dir, "..", "..");
const ADA = "ada@example.com";
const PREFERENCES = "/api/v1/users/me/preferences";

test("emails have every text in German, with its placeholders, and no unused text", () => {
  const used = new Set<string>();
  for (const path of new Bun.Glob("src/**/*.ts").scanSync(project)) {
    const source = readFileSync(pathOf(project, path), "utf8");
    for (const [, double, single] of source.matchAll(
      /\btranslate\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')/g,
    ))
      used.add((double ?? single ?? "").replaceAll("\\", ""));
  }
  expect(used.size).toBeGreaterThan(30);
  expect([...used].sort()).toEqual(Object.keys(german).sort());
  const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const [english, text] of Object.entries(german)) expect(names(text), english).toEqual(names(english));
});

test("a user gets emails in the language of their locale, and others in English", async () => {
  await using app = await startWithMail({ engine: true, stands: true, hurry: 20 });
  const other = await join(app, "member");
  await app.owner("PATCH", PREFERENCES, { locale: "de-CH" });
  await ask(app, { title: "Ship it?" });
  const isReceived = async (count: number) => {
    while (app.peer.received.length < count) await Bun.sleep(5);
  };
  await isReceived(2);
  const to = (address: string) => app.peer.received.findLast((mail) => mail.to.includes(address));
  expect(to(ADA)?.headers.subject).toBe("Genehmigung: Ship it?");
  expect(to(ADA)?.text).toContain("„Ship it?“ wartet auf Ihre Entscheidung.");
  expect(to(ADA)?.text).toContain("Genehmigung öffnen:");
  expect(to(other.user.email)?.headers.subject).toBe("Approval: Ship it?");

  expect((await app.anonymous("POST", "/api/v1/auth/forgot", { email: ADA })).status).toBe(202);
  await isReceived(3);
  expect(to(ADA)?.text).toContain("für Ihr Konto auf Weir wurde ein neues Passwort angefordert.");
  expect(app.peer.linkTo(ADA).href).toStartWith(`${app.origin}/reset?token=`);
});
