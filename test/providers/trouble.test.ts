import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import { providers } from "../../src/providers/registry.ts";
import { hasSshd } from "../support/sshd.ts";
import { startTrouble, TROUBLES } from "../support/trouble.ts";
import { linkOf, readAll, type Subject, subjects } from "./subjects.ts";

setDefaultTimeout(120_000);

/** Number of messages of one extract that are disturbed, one per attempt. */
const MESSAGES = 12;

/** Providers that page rows by a timestamp. */
const PAGED = ["shopify", "klaviyo", "amazon_seller"];

const outcome = (work: Promise<string[]>) =>
  work.catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });

test("every data provider with credentials has a peer here", () => {
  const asking = [...providers.values()]
    .filter(({ id, mail }) => id !== "local_files" && mail === undefined && (id !== "sftp" || hasSshd))
    .map(({ id }) => id);
  expect(Object.keys(subjects).sort()).toEqual(asking.sort());
});

describe.each(Object.entries(subjects))("%s", (id, open) => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await open();
  }, 120_000);
  afterAll(() => subject[Symbol.asyncDispose]());

  test("reports credentials that are wrong, have expired or lack permission, and doesn't retry them", async () => {
    for (const [what, spoil] of Object.entries(subject.wrong)) {
      const { credentials = subject.credentials, undo, isVerified } = spoil();
      const secrets = Object.entries(credentials).flatMap(([name, text]) => (name === "user" ? [] : [text]));
      const link = linkOf(subject, subject.port, credentials);
      const verified = await outcome(subject.provider.verify(link).then(() => []));
      const read = await outcome(readAll(subject, linkOf(subject, subject.port, credentials)));
      undo?.();
      for (const error of isVerified ? [read] : [verified, read]) {
        expect([what, error]).toEqual([what, expect.any(AppError)]);
        const { code, retryable, message, details } = error as AppError;
        expect([what, code, retryable]).toEqual([what, "upstream", false]);
        expect(message).toMatch(/^[A-Z0-9"][\s\S]{15,}[.?]$/);
        for (const secret of secrets) expect(`${message} ${JSON.stringify(details)}`).not.toContain(secret);
      }
      if (isVerified) expect([what, verified]).toEqual([what, []]);
    }
    expect((await readAll(subject, linkOf(subject))).length).toBeGreaterThan(0);
  });

  test("returns the same rows, or ends as retryable, whichever message meets a gateway error or a closed connection", async () => {
    await using trouble = await startTrouble(subject.port, subject);
    const whole = await readAll(subject, linkOf(subject));
    expect(await readAll(subject, linkOf(subject, trouble.port))).toEqual(whole);
    const messages = Math.min(trouble.count(), MESSAGES);
    expect(messages).toBeGreaterThan(2);
    for (const kind of TROUBLES.filter((each) => subject.isHttp || each !== "502")) {
      for (let at = 1; at <= messages; at++) {
        trouble.strike(kind, at);
        const ended = await outcome(readAll(subject, linkOf(subject, trouble.port)));
        if (Array.isArray(ended)) expect([kind, at, ended]).toEqual([kind, at, whole]);
        else {
          const { code, retryable, message } = ended;
          expect([kind, at, message, code, retryable]).toEqual([kind, at, message, "upstream", true]);
          // What breaks off within bytes that were passed on can't be requested again.
          if (kind !== "cut within") expect([kind, at, subject.heals]).toEqual([kind, at, false]);
        }
      }
    }
  });

  test("rejects a response with invalid text: two keys that differ could become one", async () => {
    if (subject.garbled === undefined) return;
    await using trouble = await startTrouble(subject.port, subject);
    trouble.garble(subject.garbled);
    expect(await outcome(readAll(subject, linkOf(subject, trouble.port)))).toMatchObject({
      code: "upstream",
      retryable: false,
      message: expect.stringContaining("answered with bytes that are no UTF-8"),
    });
  });

  if (!PAGED.includes(id)) return;

  test("returns rows with the same time once each, although one is deleted and others are repeated", async () => {
    const { level } = subject;
    if (!level) throw new Error("Nothing is level there.");
    level.keep();
    const before = await readAll(subject, linkOf(subject), level.request);
    expect([before.length, new Set(before).size]).toEqual([level.rows, level.rows]);
    level.loseSecond();
    expect((await readAll(subject, linkOf(subject), level.request)).sort()).toEqual(before.sort());
  });
});
