import { monitorEventLoopDelay } from "node:perf_hooks";
import { sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App } from "../../context.ts";
import { version } from "../../version.ts";
import { tryCounts } from "../webhooks/count.ts";
import { backupAgeSeconds } from "./backups.ts";
import type { Histogram } from "./histogram.ts";
import { LATENCY_BUCKETS, requestCounts, requestLatencies } from "./requests.ts";
import { DURATION_BUCKETS, type Tally, tallyOf } from "./tally.ts";

type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [value: number, labels?: Labels, suffix?: string];

interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

/** Returns the metrics of this process and its database, in the Prometheus format. Counters start with the process. */
export async function renderMetrics(app: App): Promise<string> {
  const [tally, queue, running, outbound, letters, store] = await Promise.all([
    tallyOf(app),
    readQueue(app),
    readRunning(app),
    readOutbound(app),
    readDeadLetters(app),
    app.store.stats(),
  ]);
  const families: Family[] = [
    gauge("weir_info", "Running version.", [[1, { version }]]),
    ...runFamilies(tally),
    gauge("weir_runs_running", "Running runs, by kind.", running),
    gauge("weir_queue_depth", "Runs waiting for a worker.", [[queue.depth]]),
    gauge("weir_queue_oldest_seconds", "Wait time of the oldest queued run.", [[queue.oldestSeconds]]),
    counter("weir_webhook_deliveries_total", "Webhook requests that started a run.", [[tally.deliveries]]),
    counter(
      "weir_outbound_deliveries_total",
      "Outgoing webhook delivery attempts, by result.",
      tryCounts(app).map(([status, count]) => [count, { status }]),
    ),
    gauge("weir_outbound_deliveries_waiting", "Pending outgoing webhook deliveries.", [[outbound]]),
    counter("weir_dead_lettered_total", "Deliveries moved to dead letters.", [[tally.deadLettered]]),
    gauge("weir_dead_letters", "Stored dead letters, by source and status.", letters),
    gauge(
      "weir_automation_last_success_seconds",
      "Seconds since the last completed run, of automations that completed since the start.",
      [...tally.successes].map(([automation_id, at]) => [secondsSince(app, at), { automation_id }]),
    ),
    counter(
      "weir_http_requests_total",
      "Requests served, by route.",
      requestCounts(app).map(({ count, ...labels }) => [count, labels]),
    ),
    {
      name: "weir_http_request_duration_seconds",
      type: "histogram",
      help: "Time until a response begins, by route.",
      samples: requestLatencies(app).flatMap(({ times, ...labels }) =>
        histogram(times, LATENCY_BUCKETS, labels),
      ),
    },
    gauge(
      "weir_backup_last_success_seconds",
      "Seconds since the latest scheduled backup, if known since the start.",
      backupSamples(app),
    ),
    gauge("weir_database_bytes", "Size of the database; 0 on a libSQL server.", [[store.databaseBytes]]),
    gauge("weir_wal_bytes", "Size of the write-ahead log; 0 on a database server.", [[store.walBytes]]),
    gauge("weir_event_loop_lag_seconds", "Maximum event loop lag since the last scrape.", [[takeLag()]]),
    gauge("process_resident_memory_bytes", "Resident memory of this process.", [[process.memoryUsage.rss()]]),
    gauge("process_uptime_seconds", "Uptime of this process.", [[process.uptime()]]),
  ];
  return families.map(render).join("");
}

const gauge = (name: string, help: string, samples: Sample[]): Family => ({
  name,
  type: "gauge",
  help,
  samples,
});
const counter = (name: string, help: string, samples: Sample[]): Family => ({
  name,
  type: "counter",
  help,
  samples,
});

const histogram = ({ sum, count, within }: Histogram, steps: readonly number[], labels: Labels): Sample[] => [
  ...steps.map((le, index): Sample => [within[index] ?? 0, { ...labels, le }, "_bucket"]),
  [count, { ...labels, le: "+Inf" }, "_bucket"],
  [sum, labels, "_sum"],
  [count, labels, "_count"],
];

const runFamilies = (tally: Tally): Family[] => [
  counter(
    "weir_runs_total",
    "Finished runs, by kind and status.",
    [...tally.runs.values()].map(({ kind, status, count }) => [count, { kind, status }]),
  ),
  {
    name: "weir_run_duration_seconds",
    type: "histogram",
    help: "Run duration, by kind.",
    samples: [...tally.durations].flatMap(([kind, times]) => histogram(times, DURATION_BUCKETS, { kind })),
  },
];

/** The condition is the one of the index `action_runs_due`, so that only due runs are read. */
async function readQueue(app: App): Promise<{ depth: number; oldestSeconds: number }> {
  const [row] = await app.store.db.all<{ depth: number; oldest: string | null }>(
    sql`select count(*) as depth, min(due_at) as oldest from action_runs
      where status in ('pending', 'waiting') and due_at is not null and due_at <= ${timestamp(app.clock)}`,
  );
  const oldest = row?.oldest ?? null;
  return { depth: row?.depth ?? 0, oldestSeconds: oldest === null ? 0 : secondsSince(app, oldest) };
}

async function readRunning(app: App): Promise<Sample[]> {
  const rows = await app.store.db.all<{ kind: string; n: number }>(
    sql`select kind, count(*) as n from action_runs where status = 'running' group by kind`,
  );
  return rows.map(({ kind, n }) => [n, { kind }]);
}

async function readOutbound(app: App): Promise<number> {
  const [row] = await app.store.db.all<{ n: number }>(
    sql`select count(*) as n from outbound_deliveries indexed by outbound_deliveries_due where due_at is not null and not exists (select 1 from webhooks where id = webhook_id and deleted_at is not null)`,
  );
  return row?.n ?? 0;
}

async function readDeadLetters(app: App): Promise<Sample[]> {
  const rows = await app.store.db.all<{ source: string; status: string; n: number }>(
    sql`select source, status, count(*) as n from dead_letters group by source, status`,
  );
  return rows.map(({ n, ...labels }) => [n, labels]);
}

function backupSamples(app: App): Sample[] {
  const age = backupAgeSeconds(app);
  return age === null ? [] : [[age]];
}

const secondsSince = ({ clock }: App, at: string) =>
  Math.max(0, (clock.now().getTime() - Date.parse(at)) / 1000);

let delays: ReturnType<typeof monitorEventLoopDelay> | null = null;

/** In seconds. The first call only starts the measurement. */
function takeLag(): number {
  if (delays === null) {
    delays = monitorEventLoopDelay({ resolution: 20 });
    delays.enable();
    return 0;
  }
  const longest = delays.max;
  delays.reset();
  return longest / 1e9;
}

const render = ({ name, type, help, samples }: Family): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples
    .map(([value, labels, suffix = ""]) => `${name}${suffix}${renderLabels(labels)} ${value}\n`)
    .join("")}`;

function renderLabels(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string) => text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
