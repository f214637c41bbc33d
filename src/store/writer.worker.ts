import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import { openWriter } from "./file.ts";

/**
 * The thread of the writing connection, so that changes and commits don't delay requests. Requests and replies are
 * JSON texts, which cross threads several times faster than objects.
 */
export interface WriterRequest {
  /** The database file, in the first request. */
  open?: string;
  /** Texts of statements that later steps refer to by number. */
  learn: [number: number, sql: string][];
  /** Statements that can be discarded. */
  forget: number[];
  /** Executed in order, up to the first failure. */
  calls: StatementCall[];
  /** Delay before them in milliseconds, to simulate a slow disk. */
  pauseMs?: number;
  /** Closes the file, in the last request. */
  close?: true;
}

export type StatementCall = [statement: number, how: How, values: SQLQueryBindings[]];

/** Result of a step: nothing if it isn't awaited, `{changes}`, rows as arrays, or rows as objects. */
export type How = "control" | "blind" | "run" | "values" | "all";

export interface WriterReply {
  /** Result of the last step. */
  value: unknown;
  /** The step that failed, and its error. */
  fault: { at: number; message: string; code: string | null } | null;
  inTransaction: boolean;
}

declare const self: Worker;

let path = "";
let connection: Database | null = null;
const texts = new Map<number, string>();
const prepared = new Map<number, Statement>();

self.onmessage = ({ data }: MessageEvent<string>) => {
  self.postMessage(JSON.stringify(perform(JSON.parse(data) as WriterRequest)));
};

function perform(request: WriterRequest): WriterReply {
  let at = 0;
  let value: unknown = null;
  let fault: WriterReply["fault"] = null;
  try {
    path = request.open ?? path;
    for (const [number, sql] of request.learn) texts.set(number, sql);
    // a file that couldn't be opened may be back by the next request
    if (request.calls.length > 0) connection ??= openWriter(path);
    if (request.pauseMs !== undefined) Bun.sleepSync(request.pauseMs);
    for (; at < request.calls.length; at++) value = run(request.calls[at] as StatementCall);
  } catch (error) {
    const { message, code, name } = error as Error & { code?: unknown };
    fault = { at, message, code: name === "SQLiteError" ? String(code) : null };
  }
  for (const number of request.forget) forget(number);
  if (request.close) {
    for (const number of prepared.keys()) forget(number); // an open statement keeps the file open
    connection?.close();
    connection = null;
    texts.clear();
  }
  return { value, fault, inTransaction: !request.close && (connection?.inTransaction ?? false) };
}

function run([number, how, values]: StatementCall): unknown {
  const statement = prepared.get(number) ?? prepare(number);
  switch (how) {
    case "control":
    case "blind":
    case "run":
      return { changes: statement.run(...values).changes };
    case "values":
      return statement.values(...values);
    case "all":
      return statement.all(...values);
  }
}

function prepare(number: number): Statement {
  const sql = texts.get(number);
  if (!connection || sql === undefined) throw new Error("The writer thread received no task.");
  const statement = connection.prepare(sql);
  prepared.set(number, statement);
  return statement;
}

function forget(number: number): void {
  prepared.get(number)?.finalize();
  prepared.delete(number);
  texts.delete(number);
}
