import type { CorrectableClock } from "../base/clock.ts";
import { ConfigError } from "../base/config-error.ts";
import { AppError } from "../base/errors.ts";
import {
  addProcess,
  allProcesses,
  askTime,
  endProcess,
  livingProcesses,
  type NewProcess,
  type ProcessRow,
  SEEN_SECONDS,
  sendHeartbeat,
} from "./processes.ts";
import type { Store } from "./store.ts";

/** Interval between checks of the peers. */
export const CHECK_MS = 5_000;
/** Number of missed heartbeats after which a peer is considered dead. */
const SILENT_CHECKS = 3;
/** Time without a heartbeat after which a process no longer starts work that peers may have taken over. */
const LAPSED_MS = 12_000;
/** If a peer was seen within this time before a start, it ran until then, and nothing was missed. */
const COVERED_MS = 10_000;
/** A smaller difference may be caused by the query's own latency. */
const LEAST_CORRECTION_MS = 50;

/** Result of a check. */
export interface PeerCheck {
  dead: ProcessRow[];
  /** True if peers considered this process dead. */
  wasTakenForDead: boolean;
  /** Correction of the clock in milliseconds, or 0 if it was right. */
  correctedMs: number;
}

/** Adjusts a clock to the database's. Returns the correction in milliseconds. */
export async function setClock(store: Store, clock: CorrectableClock): Promise<number> {
  const { aheadMs, tookMs } = await askTime(store.db, clock);
  if (Math.abs(aheadMs) < Math.max(LEAST_CORRECTION_MS, tookMs)) return 0;
  clock.correct(clock.aheadMs + aheadMs);
  return Math.round(aheadMs);
}

/** For each peer, its last heartbeat, and for how many checks it hasn't changed. */
type Silence = Map<string, { seenAt: string; checks: number }>;

/**
 * The processes that share a store on a PostgreSQL or libSQL server, from the view of one of them. They use the
 * database's clock. A missed heartbeat only counts if heartbeats of others arrived, so that no process is considered
 * dead after an outage of the server.
 */
export class Peers {
  readonly #store: Store;
  readonly #clock: CorrectableClock;
  readonly #own: NewProcess;
  #silent: Silence = new Map();
  #all: readonly ProcessRow[] = [];
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #coveredMs = 0;

  constructor(store: Store, clock: CorrectableClock, own: Omit<NewProcess, "keyId">) {
    this.#store = store;
    this.#clock = clock;
    this.#own = { ...own, keyId: "" };
  }

  /** This process's boot ID. */
  get id(): string {
    return this.#own.id;
  }

  /** Throws `ConfigError` if the settings conflict with those of a running process. */
  async join(keyId: string): Promise<void> {
    this.#own.keyId = keyId;
    await addProcess(this.#store, this.#own, (others) => {
      for (const other of others) refuse(this.#own, other);
    });
    this.#toldAtMs = this.#clock.monotonic();
    this.#all = await allProcesses(this.#store.db);
    this.#coveredMs = coveredMs(this.#own.id, this.#all);
  }

  /** Returns how long peers had been running without a gap when this process joined, in milliseconds. */
  get coveredMs(): number {
    return this.#coveredMs;
  }

  /** Sends this process's heartbeat, and checks those of its peers. */
  async check(): Promise<PeerCheck> {
    const startedMs = this.#clock.monotonic();
    const wasThere = await sendHeartbeat(this.#store, this.#own);
    this.#toldAtMs = startedMs;
    const correctedMs = await setClock(this.#store, this.#clock);
    this.#all = await allProcesses(this.#store.db);
    const next: Silence = new Map();
    for (const { id, seenAt } of this.#all) {
      const known = this.#silent.get(id);
      next.set(id, { seenAt, checks: known?.seenAt === seenAt ? known.checks + 1 : 0 });
    }
    this.#silent = next;
    const dead = this.#all.filter(
      ({ id }) => id !== this.#own.id && (next.get(id)?.checks ?? 0) >= SILENT_CHECKS,
    );
    return { dead, wasTakenForDead: !wasThere, correctedMs };
  }

  async leave(): Promise<void> {
    await endProcess(this.#store, this.#own.id);
  }

  /** True if peers may consider this process dead and have taken over its work. */
  isLapsed(): boolean {
    return this.#clock.monotonic() - this.#toldAtMs > LAPSED_MS;
  }

  /** True if there was no peer at the last check. */
  isAlone(): boolean {
    return this.#all.every(({ id }) => id === this.#own.id);
  }

  /** Number of processes on the database, including this one. */
  get size(): number {
    return Math.max(1, this.#living().length);
  }

  /** True for the one process that runs jobs which need to run only once. */
  isEldest(): boolean {
    return (this.#living()[0]?.id ?? this.#own.id) === this.#own.id;
  }

  /** True if a peer can't see the files in this process's data directory. Queries the database. */
  async isApart(): Promise<boolean> {
    const others = await livingProcesses(this.#store.db);
    return others.some(({ folderId }) => folderId !== this.#own.folderId);
  }

  /** Throws `invalid_state` if a peer couldn't see `what` in this data directory. */
  async requireTogether(what: string): Promise<void> {
    if (!(await this.isApart())) return;
    throw new AppError(
      "invalid_state",
      `${what} would be stored in one process's data directory, where the others can't read it. Set WEIR_LAKE_URL to the same bucket for all processes, or share one data directory.`,
    );
  }

  #living(): ProcessRow[] {
    return this.#all.filter(({ id }) => (this.#silent.get(id)?.checks ?? 0) < SILENT_CHECKS);
  }
}

function coveredMs(id: string, all: readonly ProcessRow[]): number {
  const joinedMs = Date.parse(all.find((one) => one.id === id)?.startedAt ?? "");
  const since = all
    .filter(({ seenAt }) => joinedMs - Date.parse(seenAt) <= COVERED_MS)
    .map(({ startedAt }) => joinedMs - Date.parse(startedAt));
  return Math.max(0, ...since);
}

function refuse(own: NewProcess, other: ProcessRow): void {
  const who = `another process that uses this database (${other.host}, process ${other.pid})`;
  const wait = `If that process has stopped, try again in ${SEEN_SECONDS} seconds.`;
  if (own.keyId !== other.keyId) {
    throw new ConfigError(
      `The master key differs from that of ${who}. All processes need the same WEIR_SECRET_KEY. To change it, stop them all first. ${wait}`,
    );
  }
  if (own.lake !== other.lake) {
    const theirs = other.lake === "" ? "its data directory" : other.lake;
    throw new ConfigError(
      `WEIR_LAKE_URL differs from that of ${who}, whose lake is in ${theirs}. All processes need the same one. ${wait}`,
    );
  }
}
