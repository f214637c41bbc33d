import { systemClock } from "../base/clock.ts";
import { systemIds } from "../base/ids.ts";
import { ConfigError } from "../config.ts";
import { keyIdOf } from "../crypto/secretbox.ts";
import { changeKeyNow } from "../engine/rekeyer.ts";
import { askForNextKey, FolderLocked, keyInFile, nextMasterKey } from "../folder.ts";
import { checkInstallation } from "../installation.ts";
import { carryOut, type Host, readArgs, UsageError, withApp } from "./host.ts";
import { usage } from "./usage.ts";
import { missingSubcommand } from "./verbs.ts";

/** Interval of checks whether the server has finished or stopped. */
const POLL_MS = 100;
const POLLS_A_ROUND = 20;

/**
 * `weir keys rotate`: generates a new master key and re-encrypts all stored secrets. If a server runs on the data
 * directory, it does the work, otherwise this process. If interrupted, the next start continues.
 */
export const keys = (args: readonly string[], host: Host) =>
  carryOut(host, usage.keys.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: { data: { type: "string" }, json: { type: "boolean" } },
    });
    if (positionals.length !== 1 || positionals[0] !== "rotate")
      throw new UsageError(missingSubcommand("keys", ["rotate"], positionals));
    const keyId = await rotate(host, flags.data);
    if (flags.json) return host.out(JSON.stringify({ keyId }));
    host.out(`Master key rotated (${keyId}). All secrets were re-encrypted.`);
    host.out("Existing backups need the old key, which no longer exists. Make a new backup.");
  });

async function rotate(host: Host, data: string | undefined): Promise<string> {
  const parts = await host.parts({ data });
  checkInstallation(parts); // before requesting a rotation from the server
  const { dataFolder, databaseUrl } = parts.config;
  if (parts.secrets.secretKey !== null || databaseUrl !== null) {
    throw new ConfigError(
      "The master key is set in the environment. Restart every server with a new key in WEIR_SECRET_KEY (openssl rand -base64 32) and the current one in WEIR_SECRET_KEY_PREVIOUS. The servers then re-encrypt all secrets.",
    );
  }
  if (keyInFile(dataFolder) === null) {
    throw new ConfigError(`No secret.key in ${dataFolder}. Set --data to the data directory.`);
  }
  let requestedId: string | null = null;
  for (;;) {
    try {
      const keyId = await withApp(parts, (app) => {
        if (requestedId === null) askForNextKey(dataFolder, systemIds);
        return changeKeyNow(app);
      });
      return requestedId === null ? keyId : replyTo(dataFolder, requestedId);
    } catch (error) {
      if (!(error instanceof FolderLocked)) throw error; // a server has it, and checks for the new key once a second
    }
    requestedId ??= keyIdOf(askForNextKey(dataFolder, systemIds));
    for (let poll = 0; poll < POLLS_A_ROUND && nextMasterKey(dataFolder) !== null; poll++) {
      host.status("Re-encrypting secrets…");
      await systemClock.sleep(POLL_MS);
    }
    host.status("");
    if (nextMasterKey(dataFolder) === null) return replyTo(dataFolder, requestedId);
  }
}

/** Returns the key once it is the current one. Throws `ConfigError` if the server didn't accept it. */
function replyTo(dataFolder: string, requestedId: string): string {
  const key = keyInFile(dataFolder);
  if (key !== null && keyIdOf(key) === requestedId) return requestedId;
  throw new ConfigError("The server didn't accept the new master key. See the server log.");
}
