import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { automationRuns, automations } from "../resources/automations/table.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";

/** Limit of the search, since every write waits for it. Runs beyond it are assumed to continue. */
const MAX_NODES = 5_000;
const MAX_ROUNDS = 200;
/** Runs of one key execute in order, so the running one is among the first. */
const FIRST_OF_KEY = 16;
/** In a wide queue, one run that ends is enough, and usually there is one among this many. */
const FIRST_QUEUED = 16;

/** What must finish before a run can: all of these, or any one of the runs ahead of it in a queue. */
type Node = { all: readonly string[] } | { any: readonly string[] };

/** What wasn't looked up yet. */
interface Open {
  /** Automation runs. */
  runs: string[];
  /** Automation runs that are looked up only if nothing else is known to end. */
  later: string[];
  /** Automations with queued runs. */
  queues: Map<string, string[]>;
  /** Action runs queued behind others of their key. */
  keyed: Map<string, string[]>;
}

/** A run about to be queued as a step of `automationRunId`. */
interface Keyed {
  organizationId: string;
  automationRunId: string;
  concurrencyKey: string;
}

/** Returns whether the step would never start: the run holding its key waits for the step through its calls. */
export async function keyWaitsForEver(db: ReadDb, step: Keyed): Promise<boolean> {
  const { organizationId, automationRunId, concurrencyKey } = step;
  const heads = await headsOf(db, organizationId, concurrencyKey);
  if (heads.length === 0) return false;
  const nodes = new Map<string, Node>([[automationRunId, { all: [NEW] }]]);
  const open: Open = { runs: [], later: [], queues: new Map(), keyed: new Map() };
  nodes.set(NEW, { all: heads.map(({ id }) => id) });
  for (const head of heads) visit(nodes, open, head);
  return !(await goesOn(db, organizationId, nodes, open));
}

/**
 * Returns what a queued automation run depends on if it would never start: each running run of the automation waits for
 * that queue, through its calls or through runs with its keys. Null if it will start.
 */
export async function queueTiedBy(
  db: ReadDb,
  queue: { organizationId: string; automationId: string; newRunId?: string },
): Promise<readonly string[] | null> {
  const { organizationId, automationId, newRunId } = queue;
  const nodes = new Map<string, Node>(newRunId === undefined ? [] : [[newRunId, { all: [NEW] }]]);
  const open: Open = { runs: [], later: [], queues: new Map([[automationId, [NEW]]]), keyed: new Map() };
  return (await goesOn(db, organizationId, nodes, open)) ? null : [...nodes.keys()];
}

/** Returns whether a run about to be queued would never start, since its caller already waits for it. */
export const queueWaitsForEver = async (
  db: ReadDb,
  queue: { organizationId: string; automationId: string; newRunId: string },
): Promise<boolean> => (await queueTiedBy(db, queue)) !== null;

/** Placeholder ID of the new run. */
const NEW = "new";

/** Looks up dependencies until the new run is known to start, or everything is known. */
async function goesOn(
  db: ReadDb,
  organizationId: string,
  nodes: Map<string, Node>,
  open: Open,
): Promise<boolean> {
  const ends = new Set<string>();
  for (let round = 0; ; round++) {
    propagate(nodes, ends);
    if (ends.has(NEW)) return true;
    if (nodes.size > MAX_NODES || round > MAX_ROUNDS) return true;
    if (open.runs.length + open.queues.size + open.keyed.size === 0) {
      if (open.later.length === 0) return false;
      open.runs = open.later.splice(0);
    }
    const { runs, queues, keyed } = open;
    Object.assign(open, { runs: [], queues: new Map(), keyed: new Map() });
    await readQueues(db, nodes, open, queues);
    await readKeys(db, organizationId, { nodes, open, keyed });
    await readRuns(db, nodes, open, runs);
  }
}

/** Adds everything that is known to end to `ends`. What wasn't looked up yet isn't. */
function propagate(nodes: ReadonlyMap<string, Node>, ends: Set<string>): void {
  const lastFirst = [...nodes].reverse(); // runs that others wait for are found after those
  for (let grew = true; grew; ) {
    grew = false;
    for (const [id, node] of lastFirst) {
      if (ends.has(id)) continue;
      const canEnd =
        "all" in node
          ? node.all.every((each) => ends.has(each))
          : node.any.length === 0 || node.any.some((each) => ends.has(each));
      if (!canEnd) continue;
      ends.add(id);
      grew = true;
    }
  }
}

/** An unfinished action run that waits for another run. */
interface Waiting {
  id: string;
  status: string;
  waitKind: string | null;
  waitId: string | null;
  concurrencyKey: string | null;
}

const waiting = {
  id: actionRuns.id,
  status: actionRuns.status,
  waitKind: actionRuns.waitKind,
  waitId: actionRuns.waitId,
  concurrencyKey: actionRuns.concurrencyKey,
};

/** Records what an action run waits for, to be looked up next. */
function visit(nodes: Map<string, Node>, open: Open, run: Waiting): void {
  if (nodes.has(run.id)) return;
  if (run.waitKind === "automation" && run.waitId !== null) {
    nodes.set(run.id, { all: [run.waitId] });
    if (!nodes.has(run.waitId)) open.runs.push(run.waitId);
  } else if (run.waitKind === null && run.concurrencyKey !== null) {
    push(open.keyed, run.concurrencyKey, run.id);
  } else {
    nodes.set(run.id, { all: [] });
  }
}

const push = (lists: Map<string, string[]>, name: string, id: string) =>
  lists.set(name, [...(lists.get(name) ?? []), id]);

const firstOfKey = prepared((db: ReadDb) =>
  db
    .select(waiting)
    .from(actionRuns)
    .where(
      and(
        eq(actionRuns.organizationId, sql.placeholder("organizationId")),
        eq(actionRuns.concurrencyKey, sql.placeholder("concurrencyKey")),
        sql`${actionRuns.status} in ('pending', 'running', 'waiting')`, // spelt as in `action_runs_by_concurrency`
      ),
    )
    .orderBy(actionRuns.id)
    .limit(FIRST_OF_KEY)
    .prepare(),
);

/** Returns those of the key's oldest unfinished runs that wait for an automation. All others end by themselves. */
async function headsOf(db: ReadDb, organizationId: string, concurrencyKey: string): Promise<Waiting[]> {
  const first = await firstOfKey(db).all({ organizationId, concurrencyKey });
  return first.filter(({ status, waitKind }) => status === "waiting" && waitKind === "automation");
}

interface Behind {
  nodes: Map<string, Node>;
  open: Open;
  keyed: ReadonlyMap<string, string[]>;
}

async function readKeys(db: ReadDb, organizationId: string, { nodes, open, keyed }: Behind): Promise<void> {
  for (const [key, ids] of keyed) {
    const heads = await headsOf(db, organizationId, key);
    for (const id of ids) nodes.set(id, { all: heads.map((head) => head.id).filter((head) => head < id) });
    for (const head of heads) visit(nodes, open, head);
  }
}

/** Must match the text in the index `automation_runs_limited`. */
async function readQueues(
  db: ReadDb,
  nodes: Map<string, Node>,
  open: Open,
  queues: ReadonlyMap<string, string[]>,
): Promise<void> {
  for (const [automationId, ids] of queues) {
    const underWay = await db
      .select({ id: automationRuns.id })
      .from(automationRuns)
      .where(
        and(
          eq(automationRuns.automationId, automationId),
          inArray(automationRuns.status, ["running", "waiting"]),
          sql`${automationRuns.isLimited} = 1`,
          isNull(automationRuns.completedAt),
        ),
      );
    const [room] = await db
      .select({ max: sql<number | null>`cast(${automations.config} ->> '$.concurrency.max' as bigint)` })
      .from(automations)
      .where(eq(automations.id, automationId));
    // A queue that has room will move.
    const any = underWay.length < (room?.max ?? Number.POSITIVE_INFINITY) ? [] : underWay.map(({ id }) => id);
    for (const id of ids) nodes.set(id, { any });
    const unknown = any.filter((id) => !nodes.has(id));
    open.runs.push(...unknown.slice(0, FIRST_QUEUED));
    open.later.push(...unknown.slice(FIRST_QUEUED));
  }
}

async function readRuns(
  db: ReadDb,
  nodes: Map<string, Node>,
  open: Open,
  wanted: readonly string[],
): Promise<void> {
  const ids = [...new Set(wanted)].filter((id) => !nodes.has(id));
  if (ids.length === 0) return;
  const rows = await db
    .select({
      id: automationRuns.id,
      automationId: automationRuns.automationId,
      status: automationRuns.status,
    })
    .from(automationRuns)
    .where(and(inArray(automationRuns.id, ids), isNull(automationRuns.completedAt)));
  const queued = new Set(rows.filter(({ status }) => status === "pending").map(({ id }) => id));
  for (const { id, automationId } of rows) if (queued.has(id)) push(open.queues, automationId, id);
  const steps = await db
    .select({ ...waiting, above: sql<string>`${actionRuns.automationRunId}` })
    .from(actionRuns)
    .where(
      and(
        inArray(actionRuns.automationRunId, ids),
        inArray(actionRuns.status, ["pending", "waiting"]),
        sql`(${actionRuns.waitKind} = 'automation' or ${actionRuns.concurrencyKey} is not null)`,
      ),
    );
  const byRun = Map.groupBy(steps, ({ above }) => above);
  for (const id of ids)
    if (!queued.has(id)) nodes.set(id, { all: (byRun.get(id) ?? []).map((step) => step.id) });
  for (const step of steps) visit(nodes, open, step);
}
