import { describeConfig } from "../config.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir config`: prints every setting as it would be used, secrets masked; as texts of one object with `--json`. */
export const config = (args: readonly string[], host: Host) =>
  carryOut(host, usage.config.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: { data: { type: "string" }, json: { type: "boolean" } },
    });
    const { config, secrets } = await host.parts({ data: flags.data });
    if (flags.json) return host.out(JSON.stringify(Object.fromEntries(describeConfig(config, secrets))));
    for (const [name, value] of describeConfig(config, secrets)) host.out(`${name}=${value}`);
  });
