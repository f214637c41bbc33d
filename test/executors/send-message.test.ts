import { describe, expect, test } from "bun:test";
import { startSmtp } from "../peers/smtp.ts";
import { type Client, startApp } from "../support/app.ts";
import { startWithMail } from "../support/mail.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  runToEnd,
} from "../support/work.ts";

const CONNECTIONS = "/api/v1/connections";
const letter = (more: object = {}) => ({
  to: ["grace@example.com"],
  subject: "Grüße",
  text: "Hello Grace,\n\nit works.\n",
  ...more,
});

async function connect(call: Client, port: number, more: object = {}, credentials: object = {}) {
  const config = { host: "127.0.0.1", port, security: "none", from: "Weir <weir@example.com>", ...more };
  return created(await call("POST", CONNECTIONS, { name: "Mail", provider: "smtp", config, credentials }));
}

const send = (call: Client, connectionId: string | null, definition: object) =>
  makeAction(call, { kind: "send_message", definition, connectionId }).then(({ id }) => runToEnd(call, id));

describe("send_message", () => {
  test("sends an email with files to its connection's server", async () => {
    await using app = await startApp();
    await using peer = await startSmtp({ user: "weir", password: "secret", allowInsecureAuth: true });
    const smtp = await connect(app.owner, peer.port, {}, { user: "weir", password: "secret" });
    expect((await app.owner("POST", `${CONNECTIONS}/${smtp.id}/verify`)).body).toMatchObject({
      status: "active",
    });
    const made = await runToEnd(app.owner, (await makeAction(app.owner)).id);
    const artifact = created(
      await app.owner("POST", "/api/v1/artifacts", {
        actionRunId: made.id,
        kind: "json",
        title: "Rows",
        content: { rows: [1, 2] },
      }),
    );
    const folder = created(
      await app.owner("POST", CONNECTIONS, {
        name: "Files",
        provider: "local_files",
        config: { root: "mail" },
      }),
    );
    const upload = `${CONNECTIONS}/${folder.id}/files?path=/report.csv`;
    expect((await app.owner("PUT", upload, Buffer.from("a,b\r\n1,2\r\n"))).status).toBe(201);
    const run = await send(
      app.owner,
      smtp.id,
      letter({
        to: ["grace@example.com", "ada@example.com"],
        html: "<p>It works.</p>",
        replyTo: "ops@example.com",
        attachments: [{ artifactId: artifact.id }, { connectionId: folder.id, path: "/report.csv" }],
      }),
    );
    expect(run).toMatchObject({
      status: "completed",
      result: { accepted: ["grace@example.com", "ada@example.com"], rejected: [] },
    });
    const [mail] = peer.received;
    expect(mail).toMatchObject({
      from: "weir@example.com",
      to: ["grace@example.com", "ada@example.com"],
      user: "weir",
    });
    expect(mail?.headers).toMatchObject({
      from: "Weir <weir@example.com>",
      "reply-to": "ops@example.com",
      "message-id": run.result.messageId,
    });
    expect(mail?.raw).toContain("filename=report.csv");
    expect(mail?.raw).toContain(Buffer.from("a,b\r\n1,2\r\n").toString("base64"));
    expect(mail?.raw).toContain("text/html");
  });

  test("uses the installation's mail server without a connection, and reports a missing one", async () => {
    {
      await using app = await startApp();
      const run = await send(app.owner, null, letter());
      expect(run.error).toMatchObject({
        code: "not_available",
        message: expect.stringContaining("WEIR_SMTP_URL"),
      });
    }
    await using app = await startWithMail({ engine: true });
    expect((await send(app.owner, null, letter())).status).toBe("completed");
    expect(app.peer.received).toMatchObject([{ to: ["grace@example.com"], text: letter().text }]);
  });

  test("reports who was refused, fails if everyone was, and retries with one Message-ID", async () => {
    await using app = await startApp();
    let refusal: Error | null = null;
    let fails = 0;
    await using peer = await startSmtp({
      onRcptTo({ address }, _session, done) {
        const permanent = Object.assign(new Error("No such mailbox"), { responseCode: 550 });
        if (address.startsWith("nobody")) return done(permanent);
        if (fails-- > 0) return done(Object.assign(new Error("Later"), { responseCode: 451 }));
        return done(refusal);
      },
    });
    const smtp = await connect(app.owner, peer.port);
    const some = await send(app.owner, smtp.id, letter({ to: ["grace@example.com", "nobody@example.com"] }));
    expect(some).toMatchObject({
      status: "completed",
      result: {
        accepted: ["grace@example.com"],
        rejected: ["nobody@example.com"],
        warnings: [expect.stringContaining("nobody@example.com was refused: 550")],
      },
    });
    const retry = { retry: { maxAttempts: 3, backoffSeconds: [0] } };
    const all = await send(app.owner, smtp.id, letter({ to: ["nobody@example.com"], ...retry }));
    expect(all).toMatchObject({
      status: "failed",
      retryCount: 0,
      error: { code: "upstream", retryable: false },
    });
    fails = 1;
    const later = await send(app.owner, smtp.id, letter(retry));
    expect(later).toMatchObject({ status: "completed", retryCount: 1 });
    expect(later.result.messageId).toContain(later.id);
    refusal = null;
  });

  test("sends an email that the server refused for good only once, and one refused for now again", async () => {
    await using app = await startApp();
    const codes = [554, 451];
    await using peer = await startSmtp({
      onData(stream, _session, done) {
        stream.resume();
        const responseCode = codes.shift();
        const refusal = Object.assign(new Error("Refused"), { responseCode });
        stream.on("end", () => (responseCode === undefined ? done() : done(refusal)));
      },
    });
    const smtp = await connect(app.owner, peer.port);
    const retry = { retry: { maxAttempts: 3, backoffSeconds: [0] } };
    const final = { status: "failed", retryCount: 0, error: { code: "upstream", retryable: false } };
    const spam = await send(app.owner, smtp.id, letter(retry));
    expect(spam).toMatchObject(final);
    expect(spam.error.message).toContain("554 Refused");
    expect(await send(app.owner, smtp.id, letter(retry))).toMatchObject({
      status: "completed",
      retryCount: 1,
    });
    expect(codes).toEqual([]);
  });

  test("rejects what would be another header, and invalid addresses", async () => {
    await using app = await startApp();
    await using peer = await startSmtp();
    const smtp = await connect(app.owner, peer.port);
    const refused = await app.owner("POST", ACTIONS, {
      name: "x",
      kind: "send_message",
      connectionId: smtp.id,
      definition: letter({
        to: ["grace@example.com\r\nBcc: x@example.com"],
        subject: "a\nBcc: b@example.com",
        replyTo: "x",
      }),
    });
    expect(faultsOf(refused).map((fault: string) => fault.split(" ")[0])).toEqual([
      "body.definition.to.0",
      "body.definition.subject",
      "body.definition.replyTo",
    ]);
    const step = {
      key: "send",
      kind: "send_message",
      connectionId: smtp.id,
      definition: letter({ subject: "{{input.s}}" }),
    };
    const flow = await makeAutomation(app.owner, { steps: [step] });
    const run = await flowToEnd(app.owner, flow.id, { input: { s: "Hi\r\nBcc: eve@example.com" } });
    expect(run.error).toMatchObject({ code: "definition_invalid" });
    expect(peer.received).toEqual([]);
  });

  test("accepts only an smtp connection, whose server the policy allows", async () => {
    await using app = await startApp({ env: { WEIR_EGRESS_ALLOW: "" } });
    const smtp = await connect(app.owner, 25);
    expect((await send(app.owner, smtp.id, letter())).error).toMatchObject({ code: "egress_blocked" });
    const folder = created(
      await app.owner("POST", CONNECTIONS, {
        name: "Files",
        provider: "local_files",
        config: { root: "mail" },
      }),
    );
    const body = { name: "x", kind: "send_message", connectionId: folder.id, definition: letter() };
    expect((await app.owner("POST", ACTIONS, body)).status).toBe(422);
    const step = { key: "send", kind: "send_message", connectionId: folder.id, definition: letter() };
    expect((await app.owner("POST", AUTOMATIONS, { name: "x", config: { steps: [step] } })).status).toBe(422);
  });

  test("waits for approval if the connection requires it", async () => {
    await using app = await startApp();
    await using peer = await startSmtp();
    const smtp = await connect(app.owner, peer.port);
    await app.owner("PATCH", `${CONNECTIONS}/${smtp.id}`, { approvalRequired: "writes" });
    const action = await makeAction(app.owner, {
      kind: "send_message",
      definition: letter(),
      connectionId: smtp.id,
    });
    const { id } = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
    const run = async () => (await app.owner("GET", `/api/v1/action-runs/${id}`)).body;
    while ((await run()).status !== "waiting") await Bun.sleep(10);
    expect((await run()).displayStatus).toBe("Waiting for approval");
    expect(peer.received).toEqual([]);
  });

  test("attaches at most 20 MB", async () => {
    await using app = await startApp();
    await using peer = await startSmtp();
    const smtp = await connect(app.owner, peer.port);
    const folder = created(
      await app.owner("POST", CONNECTIONS, {
        name: "Files",
        provider: "local_files",
        config: { root: "mail" },
      }),
    );
    const upload = `${CONNECTIONS}/${folder.id}/files?path=/big.bin`;
    await app.owner("PUT", upload, Buffer.alloc(11 * 1024 * 1024));
    const file = { connectionId: folder.id, path: "/big.bin" };
    const run = await send(app.owner, smtp.id, letter({ attachments: [file, file] }));
    expect(run.error).toMatchObject({ code: "limit_exceeded" });
    expect(peer.received).toEqual([]);
  });
});
