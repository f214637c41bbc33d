import { test } from "bun:test";

/** Whether to use the full numbers. */
export const isDeep = process.env.TEST_DEEP === "1";

/** Returns a number for the gate, or its replacement for `bun run test:deep`. */
export const scaled = (gate: number, deep: number): number => (isDeep ? deep : gate);

/** Runs only with `bun run test:deep`: in the gate, a shorter test next to it covers the same. */
export const deepTest = test.skipIf(!isDeep);

/** Of a test's variants, this many in the gate, and all of them with `bun run test:deep`. */
export const someOf = <const T>(gate: number, all: readonly T[]): readonly T[] =>
  isDeep ? all : all.slice(0, gate);
