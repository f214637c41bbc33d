import { randomBytes } from "node:crypto";

/** Makes ids and random secrets; the only place that draws randomness. */
export interface Ids {
  /** A UUIDv7: unique, and in order of creation. */
  uuid(): string;
  /** `bytes` random bytes. */
  bytes(bytes: number): Uint8Array;
}

export const systemIds: Ids = {
  uuid: () => Bun.randomUUIDv7(),
  bytes: (length) => new Uint8Array(randomBytes(length)),
};
