import { version } from "../version.ts";
import type { Host } from "./host.ts";

/** `weir version` */
export async function printVersion(_args: readonly string[], host: Host): Promise<number> {
  host.out(`weir ${version}`);
  return 0;
}
