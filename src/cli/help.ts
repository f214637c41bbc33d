import type { Host } from "./host.ts";

const TEXT = `Weir: automation and data integration in one file.

  weir serve [--data DIR] [--host HOST] [--port PORT]   run the server
  weir demo [--once] [--json] [--data DIR]              see the main job on a sample shop
  weir init --email E --password-stdin --org NAME       make the owner without a browser
  weir reset-password EMAIL                             set a new password
  weir events verify [--data DIR]                       check the audit trail
  weir config                                           print the settings, secrets masked
  weir version

State lies in the data directory, ./weir-data unless --data or WEIR_DATA names another.
`;

/** `weir help` */
export async function help(_args: readonly string[], host: Host): Promise<number> {
  host.out(TEXT);
  return 0;
}
