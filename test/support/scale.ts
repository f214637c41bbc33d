/** A number of the gate, and the one in its place under `bun run test:deep`. */
export const scaled = (gate: number, deep: number): number => (process.env.TEST_DEEP === "1" ? deep : gate);
