/**
 * Lists of 50 out of a million events and a million runs, one request at a time: p99 of each.
 * Also the cost of credentials and role per request: the same small response with and without them.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { load, median, rawRequest, tell } from "./load.ts";
import { initWeir, serveWeir } from "./weir.ts";

const ROWS = 1_000_000;
const ROUNDS = 3;
const SECONDS = 1;

const made = initWeir();
fill(join(made.folder, "weir.db"), made.organizationId);
const weir = await serveWeir(made);
const authorization = { authorization: `Bearer ${weir.token}` };
const get = (path: string, headers: Record<string, string> = authorization) =>
  rawRequest(weir.origin, "GET", path, headers);

let slowest = 0;
for (const path of [
  "/api/v1/events?limit=50",
  "/api/v1/events?limit=50&type=action.*",
  "/api/v1/events?limit=50&type=auth.token_revoked",
  "/api/v1/events?limit=50&entityType=action&entityId=01900000-0000-7000-8000-000000000007",
  "/api/v1/events?limit=50&correlationId=correlation-123456",
  "/api/v1/events?limit=50&until=2026-01-02T00:00:00.000Z",
  "/api/v1/action-runs?limit=50",
  "/api/v1/action-runs?limit=50&statuses=failed",
  "/api/v1/action-runs?limit=50&offset=100",
  "/api/v1/action-runs?limit=50&action_id=01900000-0000-7000-8000-000000000007",
]) {
  const rounds = [];
  for (let n = 0; n < ROUNDS; n++) rounds.push(await load(weir.origin, get(path), 1, SECONDS));
  const p99 = median(rounds.map((round) => round.p99));
  slowest = Math.max(slowest, p99);
  const [first] = rounds;
  console.log(
    `  ${path}: p50 ${first?.p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms ${JSON.stringify(first?.statuses)}`,
  );
}
tell("slowest p99 of a list of 50 out of 1,000,000", slowest, 50, 50, "ms", true);

const added: number[] = [];
for (let n = 0; n < ROUNDS; n++) {
  const open = await load(weir.origin, get("/api/v1/auth/methods", {}), 1, SECONDS);
  const checked = await load(
    weir.origin,
    get("/api/v1/action-runs/01900000-0000-7000-8000-ffffffffffff"),
    1,
    SECONDS,
  );
  console.log(
    `  round ${n + 1}: open ${open.p50.toFixed(3)} ms, with token and role ${checked.p50.toFixed(3)} ms`,
  );
  added.push(checked.p50 - open.p50);
}
tell("what credentials, role and one look-up add to a request", median(added), 0.2, 0.2, "ms", true);
await weir.stop();

/** Inserts a million events and a million runs of the organization, for a hundred actions. */
function fill(path: string, organizationId: string): void {
  const db = new Database(path);
  db.run("PRAGMA synchronous = OFF");
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`;
  const action = "printf('01900000-0000-7000-8000-%012d', i % 100)";
  const at = "strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + i * 20, 'unixepoch')";
  db.run(
    `${numbers} INSERT INTO events (id, organization_id, type, timestamp, entity_type, entity_id, actor_type, actor_id, actor, data, correlation_id, hash)
     SELECT printf('01900001-0000-7000-8000-%012d', i), ?, CASE i % 3 WHEN 0 THEN 'action.started' WHEN 1 THEN 'action.completed' ELSE 'automation.triggered' END,
       ${at}, 'action', ${action}, 'system', 'worker', '{}', json_object('runId', i), printf('correlation-%d', i / 4), printf('%064d', i) FROM n`,
    [organizationId],
  );
  db.run(
    `${numbers} INSERT INTO action_runs (id, organization_id, created_at, updated_at, action_id, kind, status, definition, is_resolved, retry_count, interrupt_count, trigger_method, trigger_source_type, actor, correlation_id, started_at, completed_at)
     SELECT printf('01900002-0000-7000-8000-%012d', i), ?, ${at}, ${at}, ${action}, 'http_request', CASE WHEN i % 1000 = 0 THEN 'failed' ELSE 'completed' END,
       '{}', 1, 0, 0, 'api', 'user', '{}', printf('correlation-%d', i / 4), ${at}, ${at} FROM n`,
    [organizationId],
  );
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}
