import { randomBytes } from "node:crypto";
import { systemClock } from "./clock.ts";

/** Makes ids and random secrets; the only place that draws randomness. */
export interface Ids {
  /** A UUIDv7: unique, and in order of creation, also where the clock is set back meanwhile. */
  uuid(): string;
  /** `bytes` random bytes. */
  bytes(bytes: number): Uint8Array;
}

/** The latest instant that an id has had, in milliseconds. */
let latestMs = 0;

export const systemIds: Ids = {
  uuid() {
    latestMs = Math.max(latestMs, systemClock.now().getTime());
    return Bun.randomUUIDv7("hex", latestMs);
  },
  bytes: (length) => new Uint8Array(randomBytes(length)),
};

/** The first id that could have been made at this instant: what was made before sorts before it. */
export function firstIdAt(instant: Date): string {
  const hex = instant.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}
