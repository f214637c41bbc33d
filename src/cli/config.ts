import { describeConfig } from "../config.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir config`: prints every setting as it would be used, secrets masked. */
export const config = (args: readonly string[], host: Host) =>
  carryOut(host, usage.config.line, async () => {
    const { values: flags } = readArgs({ args: [...args], options: { data: { type: "string" } } });
    const { config, secrets } = await host.parts(flags);
    for (const [name, value] of describeConfig(config, secrets)) host.out(`${name}=${value}`);
  });
