import type { App } from "../context.ts";
import { readHeadFile, type StoredSeals, writeHeadFile } from "../resources/events/head-file.ts";
import { dueForSeal, erasedAt, sealHead } from "../resources/events/seals.ts";
import { hasEvent } from "../resources/events/verify.ts";
import type { Loop } from "./loop.ts";

/** Minimum interval between writes of the file next to the database. */
const FILE_MS = 5_000;

export interface Sealer extends Loop {
  /** Seals the events since the last seal, and writes the file. Runs last when a process stops. */
  finish(): Promise<void>;
}

/** Seals the heads of all audit logs, and keeps the latest seals next to a database in the data directory. */
export function openSealer(app: App): Sealer {
  const { store, clock, config, secrets, log } = app;
  /** Null until the file has been read. Then the content to write. */
  let kept: StoredSeals | null = null;
  /** Audit logs that lack the event of a stored seal: their entry is kept as evidence. */
  const rolledBack = new Set<string>();
  /** Audit logs whose head doesn't match. */
  const broken = new Set<string>();
  let isStale = false;
  let writtenMs = Number.NEGATIVE_INFINITY;

  async function begin(): Promise<StoredSeals> {
    const found = store.remote ? {} : (readHeadFile(config.dataFolder, secrets) ?? {});
    for (const [organizationId, seal] of Object.entries(found)) {
      if (await hasEvent(store.db, organizationId, seal)) continue;
      if ((await erasedAt({ db: store.db, secrets }, organizationId)) !== null) {
        delete found[organizationId];
        isStale = true;
        continue;
      }
      rolledBack.add(organizationId);
      log.write("warn", "audit log restored from an older copy, or truncated", { organizationId });
    }
    return found;
  }

  async function sealAll(organizationIds: readonly string[]): Promise<void> {
    kept ??= await begin();
    for (const organizationId of organizationIds) {
      if (broken.has(organizationId)) continue;
      const seal = await sealHead(app, organizationId);
      if (seal === null) {
        broken.add(organizationId);
        log.write("warn", "audit log doesn't match its head; run weir events verify", {
          organizationId,
        });
      } else if (!rolledBack.has(organizationId)) {
        const { seq, count, hash } = seal;
        kept[organizationId] = { seq, count, hash };
        isStale = true;
      }
    }
  }

  function writeFile(): void {
    if (!isStale || store.remote || kept === null) return;
    writeHeadFile(config.dataFolder, secrets, kept);
    isStale = false;
    writtenMs = clock.monotonic();
  }

  return {
    name: "sealer",
    async tick() {
      if (app.peers?.isEldest() === false) return "idle";
      await sealAll(await dueForSeal(app));
      if (clock.monotonic() - writtenMs >= FILE_MS) writeFile();
      return "idle";
    },
    async finish() {
      if (app.peers?.isEldest() === false) return;
      await sealAll(await dueForSeal(app, true));
      writeFile();
    },
  };
}
