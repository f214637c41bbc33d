import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openEgress } from "../../src/base/egress.ts";
import { AppError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { openMemory } from "../../src/base/memory.ts";
import type { Link } from "../../src/providers/contract.ts";

/** Shared by the links of one file, like those of one server. */
const memory = openMemory();
const never = new AbortController().signal;

/** The real egress, which allows peers on this machine. */
const localEgress = openEgress({ allow: ["127.0.0.0/8", "::1/128"], self: () => null });

/** A link as the service creates it. There is no files folder unless one is given. */
export function link(
  config: JsonObject,
  credentials: Record<string, string>,
  overrides: Partial<Link> = {},
): Link {
  return {
    connectionId: "018f0000-0000-7000-8000-000000000001",
    config,
    credentials,
    egress: localEgress,
    memory,
    clock: systemClock,
    signal: never,
    filesFolder: join(tmpdir(), "weir-no-such-folder"),
    ...overrides,
  };
}

/** The error that `work` fails with. */
export async function failure(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}

/** A whole stream or iterable as text. */
export async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
