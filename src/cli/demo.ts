import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Parts } from "../app.ts";
import { systemClock } from "../base/clock.ts";
import { openLog } from "../base/log.ts";
import { openDemoClient } from "./demo/client.ts";
import { openReceiver, type Receiver } from "./demo/receiver.ts";
import { type DemoResult, playShow } from "./demo/show.ts";
import { openStage, type Stage, StepFailed } from "./demo/stage.ts";
import { EMAIL, type Owner, takeOwner } from "./demo/workspace.ts";
import { carryOut, type Host, printError, readArgs, withApp } from "./host.ts";
import { startServer } from "./serve.ts";
import { usage } from "./usage.ts";

/** `weir demo`: a guided demo with a sample shop. Exit code 1 if a step didn't work as expected. */
export async function demo(args: readonly string[], host: Host): Promise<number> {
  let isGood = true;
  const code = await carryOut(host, usage.demo.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: {
        once: { type: "boolean" },
        json: { type: "boolean" },
        data: { type: "string" },
        port: { type: "string" },
      },
    });
    const { once = false, json = false, data, port = "0" } = flags;
    const folder = data ?? mkdtempSync(join(tmpdir(), "weir-demo-"));
    const receiver = openReceiver();
    try {
      const parts = await partsOf(host, { data: folder, port }, receiver);
      const stage = openStage(host, { json, clock: systemClock });
      isGood = await perform({ host, parts, receiver, stage, once, isKept: data !== undefined });
    } finally {
      receiver.close();
      if (data === undefined) rmSync(folder, { recursive: true, force: true });
    }
  });
  return code === 0 && !isGood ? 1 : code;
}

/** Settings of a server, separated from everything of the user's own: database, address and log. */
async function partsOf(
  host: Host,
  flags: { data: string; port: string },
  receiver: Receiver,
): Promise<Parts> {
  const parts = await host.parts(flags);
  const { config } = parts;
  const logLevel = config.logLevel === "info" ? "warn" : config.logLevel;
  return {
    ...parts,
    config: {
      ...config,
      dataFolder: resolve(config.dataFolder),
      logLevel,
      baseUrl: null,
      databaseUrl: null,
      adminEmail: null,
      adminPasswordFile: null,
      egressAllow: [...config.egressAllow, receiver.address],
    },
    log: openLog({ level: logLevel, pretty: host.isTerminal, clock: systemClock, sink: host.err }),
  };
}

interface Performance {
  host: Host;
  parts: Parts;
  receiver: Receiver;
  stage: Stage;
  once: boolean;
  /** True if the workspace is kept after the demo. */
  isKept: boolean;
}

/** True if every step worked as expected. */
async function perform({ host, parts, receiver, stage, once, isKept }: Performance): Promise<boolean> {
  const stopped = new Promise<null>((resolve) => host.onStop(() => resolve(null)));
  const owner = await withApp(parts, takeOwner);
  const running = await startServer(parts);
  try {
    const { dataFolder } = parts.config;
    const kept = isKept ? `${dataFolder} (kept)` : "a temporary directory, deleted when the demo ends";
    stage.print("Weir demo: a sample shop, end to end. Nothing leaves this machine.\n");
    stage.line("server", running.origin);
    stage.line("data", kept);
    stage.line("receiver", `${receiver.origin} (simulates an external system)`);
    stage.line(
      "",
      `Private addresses are blocked by default; WEIR_EGRESS_ALLOW=${receiver.address} allows this one.`,
    );
    stage.print();
    stage.record("server", {
      origin: running.origin,
      receiver: receiver.origin,
      egressAllow: receiver.address,
      isKept,
    });

    const client = openDemoClient(running.origin, owner.token);
    const result = await Promise.race([
      playShow({
        stage,
        client,
        receiver,
        clock: systemClock,
        origin: running.origin,
        model: modelOf(parts),
      }),
      stopped,
    ]);
    if (result === null) return false;
    const seconds = stage.secondsSoFar();
    stage.record("done", { seconds });
    stage.print(stage.good(`All steps passed in ${seconds.toFixed(1)} s.`));
    if (isKept) stage.print(`To continue from here, run it again with --data ${dataFolder}.`);
    if (!once) {
      invite(stage, running.origin, owner, result);
      await stopped;
    }
    return true;
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    printError(host, `The demo stopped: ${error.message}`);
    return false;
  } finally {
    await running.stop();
  }
}

/** The configured language model. Null if there is none. */
function modelOf({ config, secrets }: Parts): string | null {
  if (config.llmBaseUrl !== null) return config.llmModel ?? config.llmBaseUrl;
  return secrets.anthropicApiKey === null ? null : (config.llmModel ?? "Anthropic's");
}

/** Lists what to look at while the server keeps running. */
function invite(stage: Stage, origin: string, owner: Owner, result: DemoResult): void {
  const { automationRunId, automationId, correlationId, artifactId } = result;
  stage.record("serving", { origin, email: EMAIL, password: owner.password, token: owner.token, ...result });
  const get = (label: string, path: string) =>
    stage.line(label, `curl -H "Authorization: Bearer $TOKEN" "${origin}${path}"`);
  stage.print("\nThe server is still running (Ctrl-C to stop). Open it in a browser and sign in:\n");
  const password = owner.password ?? 'printed by the first demo run (reset it with "weir reset-password")';
  stage.line("home", origin);
  stage.line("email", EMAIL);
  stage.line("password", password);
  stage.line("run", `${origin}/automation-runs/${automationRunId}`);
  stage.line("dashboard", `${origin}/artifacts/${artifactId}`);
  stage.line("automation", `${origin}/automations/${automationId}`);
  stage.line("approvals", `${origin}/approvals`);
  stage.line("events", `${origin}/events?correlationId=${correlationId}`);
  stage.line("API", `${origin}/docs`);
  stage.print("\nOr call the API with the owner's token (valid for 24 hours):\n");
  stage.print(`    TOKEN=${owner.token}\n`);
  get("datasets", "/api/v1/datasets");
  get("rows", "/api/v1/datasets/marts/daily_revenue/preview?limit=5");
  get("run", `/api/v1/automation-runs/${automationRunId}`);
  get("steps", `/api/v1/action-runs?automation_run_id=${automationRunId}`);
  get("automation", `/api/v1/automations/${automationId}`);
  get("audit log", `/api/v1/events?correlationId=${correlationId}&order=asc`);
}
