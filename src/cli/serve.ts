import { openApp, type Parts } from "../app.ts";
import { wideEntries, wideText } from "../base/egress-gate.ts";
import { ConfigError } from "../config.ts";
import type { App } from "../context.ts";
import { startEngine } from "../engine/start.ts";
import { ownServices } from "../own-services.ts";
import { createAdminFromConfig, ensureSetupToken } from "../resources/sign-in/setup.ts";
import { server } from "../server.ts";
import { version } from "../version.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { readTls, TLS_CIPHERS } from "./tls.ts";
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
  let http: ReturnType<ReturnType<typeof server>["listen"]>;
  try {
    await createAdminFromConfig(app);
    http = listen(app);
  } catch (error) {
    await opened.close();
    throw error;
  }
  opened.listensOn({ host: config.host, port: http.server?.port ?? config.port });
  const engine = await startEngine(app);
  log.write("info", `Weir ${version} listens on ${app.baseUrl()}`, { data: config.dataFolder });
  const token = await ensureSetupToken(app);
  if (token !== null) log.write("info", `Set up: ${app.baseUrl()}/setup?token=${token}`);

  return {
    app,
    origin: app.baseUrl(),
    async stop() {
      log.write("info", "Weir is stopping; running work gets its time to finish", {
        seconds: config.shutdownGraceSeconds,
      });
      opened.tell("stopping");
      await engine.stop(config.shutdownGraceSeconds * 1000);
      opened.tell("closing");
      await answered(app, () => http.server?.pendingRequests ?? 0);
      await http.stop(true);
      await opened.close();
      log.write("info", "Weir has stopped");
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
const LOOK_MS = 20;

async function answered({ clock }: App, pending: () => number): Promise<void> {
  const until = clock.monotonic() + ANSWER_MS;
  while (pending() > 0 && clock.monotonic() < until) await clock.sleep(LOOK_MS);
}

function listen(app: App) {
  const { host, port } = app.config;
  const tls = readTls(app.config);
  try {
    return server(app).listen({
      hostname: host,
      port,
      reusePort: false, // else two servers on one port would take each other's requests
      ...(tls ? { tls: { cert: tls.cert, key: tls.key, ciphers: TLS_CIPHERS } } : {}),
    });
  } catch (error) {
    const code =
      error instanceof Error ? String((error as { code?: unknown }).code ?? error.message) : String(error);
    throw new ConfigError(
      `Weir can't listen on ${host}:${port}: ${code === "EADDRINUSE" ? "another program has the port" : code}. Give another with --port.`,
    );
  }
}
