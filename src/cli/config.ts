import type { Parts } from "../app.ts";
import { describeConfig } from "../config-shown.ts";
import { checkInstallation, type Installation, readInstallation } from "../installation.ts";
import { carryOut, type Host, readArgs, UsageError, withData } from "./host.ts";
import { unknownSettings } from "./unknown-settings.ts";
import { usage } from "./usage.ts";

/**
 * `weir config`: prints the effective value of every setting, with secrets masked.
 * With `--json`, as strings of one object. Exits with 1 if the data directory depends on other settings.
 * `weir config accept` replaces those with the current ones.
 */
export const config = (args: readonly string[], host: Host) =>
  carryOut(host, usage.config.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: { data: { type: "string" }, json: { type: "boolean" } },
    });
    const [verb, ...more] = positionals;
    if (more.length > 0 || (verb !== undefined && verb !== "accept"))
      throw new UsageError('Unexpected argument. Use "weir config" or "weir config accept".');
    const parts = await host.parts({ data: flags.data });
    if (verb === "accept") return accept(host, parts, flags.json === true);
    for (const sentence of unknownSettings(host.env ?? {})) host.err(sentence);
    const described = describeConfig(parts.config, parts.secrets);
    if (flags.json) host.out(JSON.stringify(Object.fromEntries(described)));
    else for (const [name, value] of described) host.out(`${name}=${value}`);
    checkInstallation(parts);
  });

/** Opens the data directory with these settings, and records them as those that it depends on. */
async function accept(host: Host, parts: Parts, isJson: boolean): Promise<void> {
  const facts: Installation = await withData(
    parts,
    async ({ config }) => readInstallation(config.dataFolder),
    {
      accepted: true,
    },
  );
  if (isJson) return host.out(JSON.stringify(facts));
  const { database, lake, lakeEndpoint, keyId } = facts;
  host.out(`database  ${database ?? "weir.db in the data directory"}`);
  host.out(`lake      ${lake ?? "lake in the data directory"}${lakeEndpoint ? ` (${lakeEndpoint})` : ""}`);
  host.out(`key       ${keyId}`);
  host.out('Accepted. Run "weir doctor" to check that everything is there.');
}
