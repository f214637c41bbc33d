import { systemIds } from "../../base/ids.ts";
import { openSecretBox } from "../../crypto/secretbox.ts";
import { missingTriggers } from "../../resources/events/guard.ts";
import { HEAD_FILE, readHeadFile } from "../../resources/events/head-file.ts";
import { reasonText, verifiable, verifyTrail } from "../../resources/events/verify.ts";
import type { ReadDb } from "../../store/store.ts";
import { type Finding, fine, wrong } from "./finding.ts";

/** Checks whether the audit logs are as this installation wrote them. Without a key, no signatures are verified. */
export async function checkTrails(
  db: ReadDb,
  [own, ...former]: readonly Uint8Array[],
  dataFolder: string | null,
): Promise<Finding> {
  const secrets = own === undefined ? null : openSecretBox(own, systemIds, { former });
  const kept = secrets === null || dataFolder === null ? null : readHeadFile(dataFolder, secrets);
  let checked = 0;
  for (const { id, slug } of await verifiable(db)) {
    const found = await verifyTrail({ db, secrets }, id, { beside: kept?.[id] ?? null });
    checked += found.checked;
    if (found.valid) continue;
    return wrong(
      "audit",
      `The audit log of ${slug} is not valid: ${reasonText(found)}.`,
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
