import { join } from "node:path";
import type { startApp } from "./app.ts";
import { besideFile } from "./beside.ts";

/** Adds this many finished runs of one action, one in a hundred of them failed: by SQL, in a second. */
export async function fillRuns(
  { dataFolder, ids }: Awaited<ReturnType<typeof startApp>>,
  actionId: string,
  count: number,
) {
  await using db = besideFile(join(dataFolder, "weir.db"));
  await db.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     INSERT INTO action_runs (id, organization_id, created_at, updated_at, action_id, kind, status, definition, is_resolved, retry_count, interrupt_count, trigger_method, trigger_source_type, actor, correlation_id, started_at, completed_at)
     SELECT printf('01900002-0000-7000-8000-%012d', i), ?2, at, at, ?3, 'http_request', CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'completed' END,
       '{}', 1, 0, 0, 'api', 'user', '{}', printf('correlation-%d', i / 4), at, at
     FROM (SELECT i, strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + i * 20, 'unixepoch') AS at FROM n)`,
    count,
    ids.organizationId,
    actionId,
  );
}
