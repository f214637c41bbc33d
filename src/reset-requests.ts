import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { codeOf } from "./base/disk.ts";
import type { Ids } from "./base/ids.ts";
import { parseJson } from "./base/json.ts";
import { oneOf, read } from "./base/shape.ts";
import { flushFolder, writeBeside } from "./folder.ts";

/**
 * What `weir reset-password` asks of the server that has the data directory, in the folder `resets`: `ID.json`, until
 * the server answers with `ID.reply`. Only a hash of the password is written down.
 */
const Reset = Type.Object({
  email: Type.String(),
  passwordHash: Type.String(),
  endSecondFactor: Type.Boolean(),
});
export type Reset = Static<typeof Reset>;

/** What becomes of a second factor at a reset. */
const SECOND_FACTOR_ENDS = ["none", "kept", "ended"] as const;

/** `error` is a sentence, null where it was done; the counts are of what ended. */
const ResetReply = Type.Object({
  error: Type.Union([Type.String(), Type.Null()]),
  sessions: Type.Integer(),
  tokens: Type.Integer(),
  secondFactor: oneOf(SECOND_FACTOR_ENDS),
});
export type ResetReply = Static<typeof ResetReply>;

const folderIn = (dataFolder: string) => join(dataFolder, "resets");
const requestIn = (dataFolder: string, id: string) => join(folderIn(dataFolder), `${id}.json`);
const replyIn = (dataFolder: string, id: string) => join(folderIn(dataFolder), `${id}.reply`);

/** Asks for a reset; gives back its id. */
export function askForReset(dataFolder: string, ids: Ids, reset: Reset): string {
  mkdirSync(folderIn(dataFolder), { recursive: true, mode: 0o700 });
  const id = ids.uuid();
  publish(requestIn(dataFolder, id), reset);
  return id;
}

/** The ids of the resets that nobody has answered yet. */
export const resetRequests = (dataFolder: string): string[] =>
  existsSync(folderIn(dataFolder))
    ? readdirSync(folderIn(dataFolder)).flatMap((name) => /^([\w-]+)\.json$/.exec(name)?.[1] ?? [])
    : [];

/** Null for one that was taken back, and for a file that is no such thing. */
export function readReset(dataFolder: string, id: string): Reset | null {
  const { value, faults } = read(Reset, contentOf(requestIn(dataFolder, id)), []);
  return faults.length > 0 ? null : value;
}

export function answerReset(dataFolder: string, id: string, reply: ResetReply): void {
  publish(replyIn(dataFolder, id), reply);
  dropReset(dataFolder, id);
}

/** Takes the server's answer; null where there is none yet. */
export function takeResetReply(dataFolder: string, id: string): ResetReply | null {
  const { value, faults } = read(ResetReply, contentOf(replyIn(dataFolder, id)), []);
  if (faults.length > 0) return null;
  rmSync(replyIn(dataFolder, id), { force: true });
  return value;
}

/** Takes back what was asked for. */
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
