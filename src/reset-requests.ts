import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { codeOf } from "./base/disk.ts";
import type { Ids } from "./base/ids.ts";
import { parseJson } from "./base/json.ts";
import { oneOf, read } from "./base/shape.ts";
import { flushFolder, writeBeside } from "./folder.ts";

/**
 * Requests of `weir reset-password` to the server that has the data directory, in the folder `resets`:
 * `ID.json`, until the server answers with `ID.reply`. Only a hash of the password is stored.
 */
const Reset = Type.Object({
  email: Type.String(),
  passwordHash: Type.String(),
  endSecondFactor: Type.Boolean(),
});
export type Reset = Static<typeof Reset>;

/** What happens to a second factor at a reset. */
const SECOND_FACTOR_ENDS = ["none", "kept", "ended"] as const;

/** `error` is a sentence, or null on success. The counts are of what was ended. */
const ResetReply = Type.Object({
  error: Type.Union([Type.String(), Type.Null()]),
  sessions: Type.Integer(),
  tokens: Type.Integer(),
  slackLinks: Type.Integer(),
  secondFactor: oneOf(SECOND_FACTOR_ENDS),
});
export type ResetReply = Static<typeof ResetReply>;

const folderIn = (dataFolder: string) => join(dataFolder, "resets");
const requestIn = (dataFolder: string, id: string) => join(folderIn(dataFolder), `${id}.json`);
const replyIn = (dataFolder: string, id: string) => join(folderIn(dataFolder), `${id}.reply`);

/** Requests a reset. Returns its ID. */
export function askForReset(dataFolder: string, ids: Ids, reset: Reset): string {
  mkdirSync(folderIn(dataFolder), { recursive: true, mode: 0o700 });
  const id = ids.uuid();
  publish(requestIn(dataFolder, id), reset);
  return id;
}

/** IDs of the resets that aren't answered yet. */
export const resetRequests = (dataFolder: string): string[] =>
  existsSync(folderIn(dataFolder))
    ? readdirSync(folderIn(dataFolder)).flatMap((name) => /^([\w-]+)\.json$/.exec(name)?.[1] ?? [])
    : [];

/** Null if it was withdrawn, or if the file is invalid. */
export function readReset(dataFolder: string, id: string): Reset | null {
  const { value, faults } = read(Reset, contentOf(requestIn(dataFolder, id)), []);
  return faults.length > 0 ? null : value;
}

export function answerReset(dataFolder: string, id: string, reply: ResetReply): void {
  publish(replyIn(dataFolder, id), reply);
  dropReset(dataFolder, id);
}

/** Reads and deletes the server's answer. Null if there is none yet. */
export function takeResetReply(dataFolder: string, id: string): ResetReply | null {
  const { value, faults } = read(ResetReply, contentOf(replyIn(dataFolder, id)), []);
  if (faults.length > 0) return null;
  rmSync(replyIn(dataFolder, id), { force: true });
  return value;
}

/** Withdraws the request. */
export const dropReset = (dataFolder: string, id: string): void =>
  rmSync(requestIn(dataFolder, id), { force: true });

function publish(file: string, content: object): void {
  renameSync(writeBeside(file, JSON.stringify(content)), file);
  flushFolder(file);
}

function contentOf(file: string): unknown {
  try {
    return parseJson(readFileSync(file, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT" || error instanceof SyntaxError) return null;
    throw error;
  }
}
