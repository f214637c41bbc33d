import { AppError } from "../base/errors.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { openLicenses } from "./licenses.embed.ts";
import { usage } from "./usage.ts";

/** A package that the executable contains. */
export interface Carried {
  name: string;
  version: string;
  /** SPDX identifier. */
  license: string;
  text: string;
}

/** `weir licenses` */
export const licenses = (args: readonly string[], host: Host) =>
  carryOut(host, usage.licenses.line, async () => {
    const { values: flags } = readArgs({ args: [...args], options: { json: { type: "boolean" } } });
    const carried = await openLicenses();
    if (carried === null)
      throw new AppError(
        "not_available",
        "Weir is running from source. Each package has its own license file.",
      );
    if (flags.json)
      return host.out(
        JSON.stringify(carried.map(({ name, version, license }) => ({ name, version, license }))),
      );
    for (const { name, version, license, text } of carried) {
      host.out(`${"=".repeat(80)}\n${name} ${version}: ${license}\n${"=".repeat(80)}\n\n${text.trimEnd()}\n`);
    }
  });
