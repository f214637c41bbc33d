import { asc } from "drizzle-orm";
import { systemIds } from "../../base/ids.ts";
import { openSecretBox } from "../../crypto/secretbox.ts";
import { missingTriggers } from "../../resources/events/guard.ts";
import { HEAD_FILE, readHeadFile } from "../../resources/events/head-file.ts";
import { verifyChain, verifyTrail } from "../../resources/events/verify.ts";
import type { Verification } from "../../resources/events/wire.ts";
import { organizations } from "../../resources/organizations/table.ts";
import type { ReadDb } from "../../store/store.ts";
import { type Finding, fine, wrong } from "./finding.ts";

const REASONS = {
  truncated: "the latest events are missing",
  rewritten: "events were changed or removed",
  rolled_back: "an older copy was restored",
};

/** Checks whether the audit logs are as this installation wrote them. Without a key, checks only their hash chains. */
export async function checkTrails(
  db: ReadDb,
  [own, ...former]: readonly Uint8Array[],
  dataFolder: string | null,
): Promise<Finding> {
  const secrets = own === undefined ? null : openSecretBox(own, systemIds, { former });
  const kept = secrets === null || dataFolder === null ? null : readHeadFile(dataFolder, secrets);
  const verify = (id: string): Promise<Verification> =>
    secrets === null ? verifyChain(db, id) : verifyTrail({ db, secrets }, id, { beside: kept?.[id] ?? null });
  let checked = 0;
  for (const { id, slug } of await db.select().from(organizations).orderBy(asc(organizations.id))) {
    const found = await verify(id);
    checked += found.checked;
    if (found.valid) continue;
    const at = found.firstBadId === null ? "" : `, first at event ${found.firstBadId}`;
    return wrong(
      "audit",
      `The audit log of ${slug} is not valid: ${REASONS[found.reason ?? "rewritten"]}${at}.`,
      found.reason === "rolled_back"
        ? `If you restored the copy on purpose, delete ${HEAD_FILE} in the data directory. Next time use "weir restore".`
        : "The database was changed outside Weir. Compare it with a backup (weir backup verify) before you trust it.",
    );
  }
  return fine("audit", `The audit logs are valid: ${checked} events.`);
}

/** Checks whether the triggers that prevent changes to events exist. */
export async function checkTriggers(db: ReadDb): Promise<Finding> {
  const missing = await missingTriggers(db);
  if (missing.length === 0) return fine("triggers", "The audit log is protected against changes by SQL.");
  return wrong(
    "triggers",
    `Triggers that protect the audit log are missing: ${missing.join(", ")}.`,
    "Restart the server to recreate them, and find out who removed them.",
  );
}
