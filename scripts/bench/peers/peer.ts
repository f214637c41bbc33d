import type { Process } from "./ground.ts";

/** Another system that responds to the benchmark's webhook. */
export interface Peer {
  /** Includes its version. */
  name: string;
  origin: string;
  path: string;
  /** In addition to the content type. */
  headers: Record<string, string>;
  /** Returns whether it is the response that the benchmark's payload must lead to. */
  isRight(reply: string): boolean;
  child: Process;
}
