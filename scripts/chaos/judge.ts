import { auditBooks } from "./audit.ts";
import type { Case, Figures } from "./books.ts";
import type { Place } from "./place.ts";
import { ROWS } from "./plant.ts";
import { ask, type Call, type Installation, runWeir, type Weir } from "./weir.ts";

/** How long open work may stay unchanged. A slow machine only takes longer. */
const SETTLE_MS = 180_000;

/** Lets all work finish, stops the server, and returns all faults. */
export async function judge(
  weir: Weir,
  installation: Installation,
  given: Case,
  log: (line: string) => void,
): Promise<{ figures: Figures; faults: string[] }> {
  const faults: string[] = [];
  for (const { id } of given.plant.schedules)
    await ask(weir.call, "PATCH", `/api/v1/automations/${id}`, { status: "disabled" });
  const open = await settle(weir.call, given.place, log);
  if (open !== null) faults.push(`it did not come to rest: ${open}`);
  faults.push(...(await checkTables(weir.call)));
  const exit = await weir.end("SIGTERM");
  if (exit !== 0) faults.push(`SIGTERM ended with exit code ${exit}`);
  const verified = await runWeir(installation, ["events", "verify", "--data", installation.folder]);
  if (verified.code !== 0) faults.push(`the audit trail: ${verified.out}${verified.err}`);
  const books = await auditBooks(given, await given.place.asFile(installation));
  faults.push(...given.ledger.faults, ...given.receiver.faults, ...books.faults);
  return { figures: books.figures, faults };
}

/** Decides open decisions until there are none. Returns what is still open otherwise. */
async function settle(call: Call, place: Place, log: (line: string) => void): Promise<string | null> {
  const opens = {
    "action runs": `select count(*) from action_runs where status in ('pending', 'running', 'waiting')`,
    "automation runs": `select count(*) from automation_runs where completed_at is null`,
    "events for triggers": `select count(*) from events e where type = 'action.created'
      and e.id not in (select trigger_source_id from automation_runs where trigger_method = 'event')`,
    deliveries: `select count(*) from outbound_deliveries where status in ('pending', 'retrying')`,
    "events for subscribers": `select count(*) from webhooks w join events e on e.seq > w.after_seq
      where e.type in ('action.created', 'automation.completed')
        and not exists (select 1 from outbound_deliveries d where d.webhook_id = w.id and d.event_seq = e.seq and d.replay_of is null)`,
  };
  let before = "";
  for (let since = performance.now(); performance.now() - since < SETTLE_MS; await Bun.sleep(250)) {
    const { decisions } = await ask(call, "GET", "/api/v1/decisions/pending");
    for (const { id } of decisions as { id: string }[])
      await call("POST", `/api/v1/decisions/${id}/decide`, { decisionValue: "approved" });
    const open = await openOnes(place, opens);
    if (open === "") return null;
    if (open !== before) since = performance.now();
    before = open;
    log(`waits for ${open}`);
  }
  return await openOnes(place, opens);
}

async function openOnes(place: Place, opens: Record<string, string>): Promise<string> {
  const open: string[] = [];
  for (const [what, sql] of Object.entries(opens)) {
    const count = await place.count(sql);
    if (count > 0) open.push(`${count} ${what}`);
  }
  return open.join(", ");
}

/** The loaded table equals the source, complete and once, however often it was loaded. */
async function checkTables(call: Call): Promise<string[]> {
  const faults: string[] = [];
  const query = async (sql: string) => (await ask(call, "POST", "/api/v1/query", { sql })).rows[0];
  const listed = await ask(call, "GET", "/api/v1/datasets?limit=100");
  if (!JSON.stringify(listed).includes("chaos")) return faults; // No load completed.
  const { n, d } = await query("SELECT count(*) AS n, count(DISTINCT id) AS d FROM raw.chaos__rows");
  if (n !== ROWS || d !== ROWS) faults.push(`the table has ${n} rows with ${d} ids; ${ROWS} were right`);
  const tags = await query("SELECT count(*) AS n FROM raw.chaos__rows__tags");
  if (tags.n !== 2 * ROWS) faults.push(`the child table has ${tags.n} rows; ${2 * ROWS} were right`);
  return faults;
}

/** A longer queue has to shrink before more is requested, so that a slow machine finishes as well. */
const LONGEST_LINE = 150;
const CALM_MS = 10_000;

/** Waits a little if more is queued than the server can process between two kills. */
export async function calmDown(place: Place): Promise<void> {
  const line = "select count(*) from action_runs where status in ('pending', 'running')";
  for (const start = performance.now(); performance.now() - start < CALM_MS; await Bun.sleep(100))
    if ((await place.count(line)) <= LONGEST_LINE) return;
}

/** All running runs belong to one process start, that of the live process. */
export async function strayLeases(place: Place): Promise<string[]> {
  if (place.isShared) return [];
  const boots = await place.count("select count(distinct boot_id) from action_runs where status = 'running'");
  return boots > 1 ? [`runs under way belong to ${boots} processes`] : [];
}
