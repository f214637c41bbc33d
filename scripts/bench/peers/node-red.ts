import { join } from "node:path";
import { tempFolder } from "../ending.ts";
import { BODY, freePort } from "../weir.ts";
import { nodeFile, npmFolder, startProcess } from "./ground.ts";
import type { Peer } from "./peer.ts";

const VERSION = "5.0.7";
const ORDER = JSON.stringify(JSON.parse(BODY).order);

/**
 * Http in → change → http response. It only reads a field: a condition in a change would be JSONata, which costs more.
 */
const FLOW = [
  { id: "tab", type: "tab", label: "Bench" },
  { id: "in", type: "http in", url: "/bench", method: "post", wires: [["change"]], ...at(1) },
  {
    id: "change",
    type: "change",
    rules: [{ t: "set", p: "payload", pt: "msg", to: "payload.order", tot: "msg" }],
    wires: [["out"]],
    ...at(2),
  },
  { id: "out", type: "http response", statusCode: "200", headers: {}, wires: [], ...at(3) },
];

/** A node without a position on its tab isn't wired. */
function at(place: number) {
  return { z: "tab", x: place * 100, y: 100 };
}

/** Node-RED without editor and log. It stores nothing, and verifies no signature. */
export async function startNodeRed(): Promise<Peer> {
  const folder = await npmFolder("node-red", { packages: { "node-red": VERSION } });
  const home = tempFolder();
  const port = freePort();
  const flows = join(home, "flows.json");
  await Bun.write(flows, JSON.stringify(FLOW));
  const settings = { uiHost: "127.0.0.1", httpAdminRoot: false, telemetry: { enabled: false } };
  const quiet = { logging: { console: { level: "error", metrics: false, audit: false } } };
  const settingsFile = join(home, "settings.js");
  await Bun.write(settingsFile, `module.exports = ${JSON.stringify({ ...settings, ...quiet })};`);
  const red = join(folder, "node_modules/node-red/red.js");
  const options = ["--userDir", home, "--settings", settingsFile, "--port", String(port)];
  const child = startProcess([await nodeFile(), red, ...options, flows], {
    HOME: home,
    NODE_ENV: "production",
  });
  return {
    name: `Node-RED ${VERSION}`,
    origin: `http://127.0.0.1:${port}`,
    path: "/bench",
    headers: {},
    isRight: (reply) => reply === ORDER,
    child,
  };
}
