import { test } from "bun:test";

/** Whether the full numbers are wanted. */
export const isDeep = process.env.TEST_DEEP === "1";

/** A number of the gate, and the one in its place under `bun run test:deep`. */
export const scaled = (gate: number, deep: number): number => (isDeep ? deep : gate);

/** Of `bun run test:deep` alone: what it guards is guarded in the gate by a shorter test beside it. */
export const deepTest = test.skipIf(!isDeep);

/** Of variants of one test the first so many in the gate, and all of them under `bun run test:deep`. */
export const someOf = <const T>(gate: number, all: readonly T[]): readonly T[] =>
  isDeep ? all : all.slice(0, gate);
