import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "./clock.ts";

/** Generates IDs and random secrets. The only source of randomness. */
export interface Ids {
  /** A UUIDv7: unique and in creation order, even if the clock is set back. */
  uuid(): string;
  /** `bytes` random bytes. */
  bytes(bytes: number): Uint8Array;
}

/** IDs ordered by this clock, which all processes on a store share, even if it is set back. */
export function idsBy(clock: Clock): Ids {
  let latestMs = 0;
  return {
    uuid() {
      latestMs = Math.max(latestMs, clock.now().getTime());
      return Bun.randomUUIDv7("hex", latestMs);
    },
    bytes: (length) => new Uint8Array(randomBytes(length)),
  };
}

export const systemIds: Ids = idsBy(systemClock);

/** Returns the UUIDv5 of a name, which is always the same. */
export const uuidOf = (name: string): string =>
  Bun.randomUUIDv5(name, "7f1a1c0e-5c1d-5a52-9d4b-0d6f1f0c8c11");

/** Returns the lowest ID of this time. Earlier IDs sort before it. */
export function firstIdAt(instant: Date): string {
  const hex = instant.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}
