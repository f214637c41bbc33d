import { openApp, type Parts } from "../app.ts";
import { wideEntries, wideText } from "../base/egress-gate.ts";
import { startHttpClient } from "../base/egress-start.ts";
import type { App } from "../context.ts";
import { startEngine } from "../engine/start.ts";
import { ownServices } from "../own-services.ts";
import { createAdminFromConfig, ensureSetupToken } from "../resources/sign-in/setup.ts";
import { version } from "../version.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { type Listener, openListener } from "./listener.ts";
import { usage } from "./usage.ts";

/** `weir serve`: runs until it is told to stop. */
export const serve = (args: readonly string[], host: Host) =>
  carryOut(host, usage.serve.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: { data: { type: "string" }, host: { type: "string" }, port: { type: "string" } },
    });
    const stopped = new Promise<void>((resolve) => host.onStop(resolve));
    const running = await startServer(await host.parts(flags));
    await stopped;
    await running.stop();
  });

export interface Running {
  app: App;
  origin: string;
  /** Lets running work finish for as long as the settings give it, then closes everything. */
  stop(): Promise<void>;
}

/** Opens everything, takes up what was left, and listens; resolves once requests are answered. */
export async function startServer(parts: Parts): Promise<Running> {
  const { config, log } = parts;
  const opened = await openApp(parts);
  await warnOfWide(parts);
  const { app } = opened;
  let http: Listener;
  try {
    await createAdminFromConfig(app);
    await startHttpClient();
    http = openListener(app);
  } catch (error) {
    await opened.close();
    throw error;
  }
  opened.listensOn({ host: config.host, port: http.port });
  const engine = await startEngine(app);
  log.write("info", `Weir ${version} listening on ${app.baseUrl()}`, { data: config.dataFolder });
  const token = await ensureSetupToken(app);
  if (token !== null) log.write("info", `Set up: ${app.baseUrl()}/setup?token=${token}`);

  return {
    app,
    origin: app.baseUrl(),
    async stop() {
      log.write("info", "shutting down; waiting for running work", {
        seconds: config.shutdownGraceSeconds,
      });
      opened.tell("stopping");
      await engine.stop(config.shutdownGraceSeconds * 1000);
      opened.tell("closing");
      await answered(app, () => http.pendingRequests);
      await http.stop();
      await opened.close();
      log.write("info", "server stopped");
    },
  };
}

/** Tells an operator of entries of `WEIR_EGRESS_ALLOW` that are too wide. */
async function warnOfWide({ config, secrets, log }: Parts): Promise<void> {
  const own = ownServices(config, secrets);
  for (const wide of await wideEntries({ allow: config.egressAllow, own, self: () => null }))
    log.write("warn", wideText(wide));
}

/** Requests that are being answered get so long at the end, when there is no more work that they could wait for. */
const ANSWER_MS = 3_000;
const POLL_MS = 20;

async function answered({ clock }: App, pending: () => number): Promise<void> {
  const until = clock.monotonic() + ANSWER_MS;
  while (pending() > 0 && clock.monotonic() < until) await clock.sleep(POLL_MS);
}
