import { cpSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../ending.ts";
import { freePort } from "../weir.ts";
import { nodeFile, npmFolder, startProcess } from "./ground.ts";
import type { Peer } from "./peer.ts";

const VERSION = "1.7.12";
const SDK = "1.17.2";

/** Restate with a service on Node whose handler has one durable step: the same check as Weir's branch. */
export async function startRestate(): Promise<Peer> {
  const folder = await npmFolder("restate", {
    packages: { "@restatedev/restate-server": VERSION, "@restatedev/restate-sdk": SDK },
  });
  const script = join(folder, "service.mjs"); // Next to its packages.
  cpSync(join(import.meta.dir, "restate-service.mjs"), script);
  const [ingress, admin, fabric, service] = [freePort(), freePort(), freePort(), freePort()];
  startProcess([await nodeFile(), script, String(service)], { NODE_ENV: "production" });
  const server = join(folder, "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server");
  const child = startProcess([server, "--no-logo"], {
    RESTATE_BASE_DIR: tempFolder(),
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_PORT: String(fabric),
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_PORT: String(admin),
    RESTATE_LOG_FILTER: "error",
  });
  await child.ready(async () => (await fetch(`http://127.0.0.1:${admin}/health`)).ok);
  await child.ready(async () => {
    const reply = await fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: `http://127.0.0.1:${service}` }),
    });
    return reply.ok;
  });
  return {
    name: `Restate ${VERSION}`,
    origin: `http://127.0.0.1:${ingress}`,
    path: "/bench/run",
    headers: {},
    isRight: (reply) => reply === '{"branch":"big"}',
    child,
  };
}
