import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Parts } from "../app.ts";
import { systemClock } from "../base/clock.ts";
import { withDatabase } from "../engine/backup/contents.ts";
import { keyInFile, nextMasterKey, previousMasterKey } from "../folder.ts";
import {
  checkEvents,
  checkIntegrity,
  checkKey,
  checkLake,
  checkQueue,
  checkSchema,
  checkTrails,
} from "./doctor/database.ts";
import { type Finding, fine, looking, wrong } from "./doctor/finding.ts";
import { checkDisk, checkPermissions, checkWal, isTaken } from "./doctor/folder.ts";
import { checkClock, checkEgress } from "./doctor/machine.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { usage } from "./usage.ts";

const LOOK_AGAIN = "Look at the server's log, then call doctor as the user that the server runs as.";
const RESTORE = "Stop the server, and put the last good backup back with weir restore.";

/** `weir doctor`: looks at everything that an installation needs, and changes nothing; exit code 1 when something is wrong. */
export async function doctor(args: readonly string[], host: Host): Promise<number> {
  let isWell = true;
  const code = await carryOut(host, usage.doctor.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: { data: { type: "string" }, json: { type: "boolean" } },
    });
    const findings = await examine(await host.parts({ data: flags.data }));
    isWell = findings.every(({ ok }) => ok);
    if (flags.json) return host.out(JSON.stringify({ ok: isWell, findings }));
    for (const { check, ok, message, remedy } of findings) {
      host.out(`${ok ? "ok   " : "WRONG"} ${check.padEnd(12)}${message}`);
      if (remedy !== null) host.out(`${" ".repeat(18)}→ ${remedy}`);
    }
  });
  return code === 0 && !isWell ? 1 : code;
}

async function examine({ config, secrets }: Parts): Promise<Finding[]> {
  const { dataFolder, databaseUrl, egressAllow } = config;
  const findings = [await checkClock(systemClock), checkEgress(egressAllow)];
  if (!existsSync(dataFolder)) {
    const remedy = "Say with --data where Weir's state lies, or make it with weir init or weir serve.";
    return [...findings, wrong("data", `There is no data directory ${dataFolder}.`, remedy)];
  }
  findings.push(
    await looking("permissions", LOOK_AGAIN, () => checkPermissions(dataFolder)),
    await looking("disk", LOOK_AGAIN, () => checkDisk(dataFolder)),
  );
  if (databaseUrl !== null) {
    const message = "The database lies on a libSQL server, which looks after it with its own tools.";
    return [...findings, fine("database", message)];
  }
  const file = join(dataFolder, "weir.db");
  if (!existsSync(file)) {
    const remedy = "Start it once with weir serve, or put a backup there with weir restore.";
    return [...findings, wrong("database", `There is no database in ${dataFolder}.`, remedy)];
  }
  findings.push(checkWal(dataFolder)); // before it is opened, which may move it
  return [...findings, ...(await examineDatabase({ config, secrets }, file))];
}

async function examineDatabase(
  { config, secrets }: Pick<Parts, "config" | "secrets">,
  file: string,
): Promise<Finding[]> {
  const { dataFolder, lakeUrl } = config;
  const isServed = isTaken(dataFolder);
  const findings = [
    fine(
      "server",
      isServed ? "A server runs on the data directory." : "No server runs on the data directory.",
    ),
  ];
  const keys = () =>
    [
      secrets.secretKey === null
        ? keyInFile(dataFolder)
        : new Uint8Array(Buffer.from(secrets.secretKey, "base64")),
      secrets.secretKey === null ? nextMasterKey(dataFolder) : previousMasterKey(secrets.secretKeyPrevious),
    ].filter((key) => key !== null);
  const opened = await looking("database", RESTORE, () =>
    withDatabase(file, async (db) => {
      findings.push(await looking("integrity", RESTORE, () => checkIntegrity(db)));
      if (findings.some(({ ok }) => !ok)) return fine("database", "It can be opened.");
      const { isCurrent, ...schema } = await checkSchema(db);
      findings.push(schema);
      if (!isCurrent) return fine("database", "It can be opened.");
      findings.push(
        await looking("key", LOOK_AGAIN, () => checkKey(db, keys(), dataFolder)),
        await looking("audit", RESTORE, () => checkTrails(db)),
        await looking("events", LOOK_AGAIN, () => checkEvents(db, systemClock)),
        await looking("queue", LOOK_AGAIN, () => checkQueue(db, systemClock, isServed)),
        lakeUrl === null
          ? await looking("lake", LOOK_AGAIN, () => checkLake(db, join(dataFolder, "lake")))
          : fine("lake", `The lake's files lie in ${lakeUrl}.`),
      );
      return fine("database", "It can be opened.");
    }),
  );
  return opened.ok ? findings : [...findings, opened];
}
