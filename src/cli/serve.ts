import { openApp, type Parts } from "../app.ts";
import { wideEntries, wideText } from "../base/egress-gate.ts";
import { startHttpClient } from "../base/egress-start.ts";
import { compileForWork } from "../base/jit.ts";
import { type Config, schemeOf } from "../config.ts";
import type { App } from "../context.ts";
import { readPassphrase } from "../crypto/age.ts";
import { startEngine } from "../engine/start.ts";
import { ownServices } from "../own-services.ts";
import { createAdminFromConfig, ensureSetupToken } from "../resources/sign-in/setup.ts";
import { version } from "../version.ts";
import { noteAddress } from "./address.ts";
import { openBrowser } from "./browser.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { type Listener, openListener } from "./listener.ts";
import { unknownSettings } from "./unknown-settings.ts";
import { usage } from "./usage.ts";

/** `weir serve`: runs until it is stopped. */
export const serve = (args: readonly string[], host: Host) =>
  carryOut(host, usage.serve.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: {
        data: { type: "string" },
        host: { type: "string" },
        port: { type: "string" },
        open: { type: "boolean" },
      },
    });
    await serveUntilStopped(host, await host.parts(flags), flags.open === true);
  });

/** Serves until the process is asked to stop. */
export async function serveUntilStopped(host: Host, parts: Parts, isOpened: boolean): Promise<void> {
  const stopped = new Promise<void>((resolve) => host.onStop(resolve));
  for (const sentence of unknownSettings(host.env ?? {})) parts.log.write("warn", sentence);
  const running = await startServer(parts);
  noteAddress(parts.config.dataFolder, running.origin);
  if (isOpened) openBrowser(host.env, running.setupUrl ?? running.origin);
  await stopped;
  await running.stop();
}

export interface Running {
  app: App;
  origin: string;
  /** Where to create the first owner. Null once there is one. */
  setupUrl: string | null;
  /** Waits for running work up to the configured grace period, then closes everything. */
  stop(): Promise<void>;
}

/** Opens everything, recovers earlier work, and listens. Resolves once requests are answered. */
export async function startServer(parts: Parts): Promise<Running> {
  const { config, log } = parts;
  if (config.backupPassphraseFile !== null) readPassphrase(config.backupPassphraseFile); // else backups fail later
  const opened = await openApp(parts);
  await warnOfWide(parts);
  const { app } = opened;
  let http: Listener;
  try {
    await createAdminFromConfig(app);
    await startHttpClient();
    await app.store.startThreads?.();
    http = openListener(app);
  } catch (error) {
    await opened.close();
    throw error;
  }
  opened.listensOn({ host: config.host, port: http.port });
  const engine = await startEngine(app);
  compileForWork();
  log.write("info", `Weir ${version} listening on ${addressOf(config, http.port)}`, {
    data: config.dataFolder,
    ...(config.baseUrl === null ? {} : { baseUrl: config.baseUrl }),
  });
  const token = await ensureSetupToken(app);
  const setupUrl = token === null ? null : `${app.baseUrl()}/setup?token=${token}`;
  if (setupUrl !== null) log.write("info", `Set up: ${setupUrl}`);

  return {
    app,
    origin: app.baseUrl(),
    setupUrl,
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

/** Where it listens, whatever the base of links is. */
const addressOf = (config: Config, port: number): string =>
  `${schemeOf(config)}://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;

/** Warns the operator about entries of `WEIR_EGRESS_ALLOW` that are too wide. */
async function warnOfWide({ config, secrets, log }: Parts): Promise<void> {
  const own = ownServices(config, secrets);
  for (const wide of await wideEntries({ allow: config.egressAllow, own, self: () => null }))
    log.write("warn", wideText(wide));
}

/** Time for open requests at the end, when there is no more work that they could wait for. */
const ANSWER_MS = 3_000;
const POLL_MS = 20;

async function answered({ clock }: App, pending: () => number): Promise<void> {
  const until = clock.monotonic() + ANSWER_MS;
  while (pending() > 0 && clock.monotonic() < until) await clock.sleep(POLL_MS);
}
