import { commit, version } from "../version.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir version` */
export const printVersion = (args: readonly string[], host: Host) =>
  carryOut(host, usage.version.line, async () => {
    const { values: flags } = readArgs({ args: [...args], options: { json: { type: "boolean" } } });
    host.out(flags.json ? JSON.stringify({ version, commit }) : `weir ${version}`);
  });
