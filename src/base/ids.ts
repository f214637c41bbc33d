import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "./clock.ts";

/** Makes ids and random secrets; the only place that draws randomness. */
export interface Ids {
  /** A UUIDv7: unique, and in order of creation, also where the clock is set back meanwhile. */
  uuid(): string;
  /** `bytes` random bytes. */
  bytes(bytes: number): Uint8Array;
}

/** Ids in the order of this clock, which is that of all processes that share a store; also where it is set back. */
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

/** The UUIDv5 of a name: the same one for the same name. */
export const uuidOf = (name: string): string =>
  Bun.randomUUIDv5(name, "7f1a1c0e-5c1d-5a52-9d4b-0d6f1f0c8c11");

/** The first id that could have been made at this instant: what was made before sorts before it. */
export function firstIdAt(instant: Date): string {
  const hex = instant.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}
