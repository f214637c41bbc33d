import type { Process } from "./ground.ts";

/** Another system that answers the benchmark's webhook. */
export interface Peer {
  /** With its version. */
  name: string;
  origin: string;
  path: string;
  /** Besides the content type. */
  headers: Record<string, string>;
  /** True for the reply that the benchmark's payload must lead to. */
  isRight(reply: string): boolean;
  child: Process;
}
