/**
 * The list of 50 (credentials, organization, total) against raw Elysia over bun:sqlite on the same file, and a
 * validated request against the same server's cheapest one. Medians of interleaved rounds.
 */
import { join } from "node:path";
import { load, median, rawRequest, tell } from "./load.ts";
import { startWeir } from "./weir.ts";

const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS = 8;

const weir = await startWeir();
for (let n = 0; n < 200; n++) {
  await weir.call("POST", "/api/v1/connections", {
    name: `Files ${n}`,
    provider: "local_files",
    config: {},
    credentials: {},
  });
}
const peer = Bun.spawn(
  [process.execPath, join(import.meta.dir, "raw-list.ts"), join(weir.folder, "weir.db")],
  { stdout: "pipe" },
);
process.on("exit", () => peer.kill());
const { value } = await peer.stdout.getReader().read();
const { origin: bare } = JSON.parse(new TextDecoder().decode(value)) as { origin: string };

const authorization = { authorization: `Bearer ${weir.token}` };
const ours = rawRequest(weir.origin, "GET", "/api/v1/connections?limit=50", authorization);
const theirs = rawRequest(bare, "GET", "/connections?limit=50", {});
const ratios: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const a = await load(weir.origin, ours, CONNECTIONS, SECONDS);
  const b = await load(bare, theirs, CONNECTIONS, SECONDS);
  ratios.push(a.perSecond / b.perSecond);
  console.log(
    `  round ${round + 1}: Weir ${a.perSecond.toFixed(0)}/s ${JSON.stringify(a.statuses)}, raw ${b.perSecond.toFixed(0)}/s`,
  );
}
tell("list of 50 against raw Elysia + bun:sqlite", median(ratios), 0.4, 0.6);
await weir.stop();
peer.kill();
process.exit(0);
