import { existsSync, mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "../base/config-error.ts";
import { fileReason } from "../base/file-error.ts";
import { kindOf } from "./apply/kinds.ts";
import { readState } from "./apply/state.ts";
import { FORMAT, SCHEMA_FILE, sectionsOf, yamlOf } from "./apply/write.ts";
import { usage } from "./usage.ts";
import { apiOf, singleCommand, verb } from "./verbs.ts";

/** `weir export`: an organization's configuration as YAML, without secrets. */
export const exportConfig = singleCommand(
  usage.export,
  verb({
    options: { output: { type: "string", short: "o" } },
    async run(input) {
      const { flags, host } = input;
      const state = await readState(apiOf(input));
      const sections = sectionsOf(state);
      for (const noun of state.unread)
        host.err(`Left out: ${kindOf(noun).section}. They require the admin role.`);
      const { output } = flags;
      if (output === undefined || output === "-") {
        if (flags.json) return host.out(JSON.stringify({ weir: FORMAT, ...sections }));
        return host.out((await yamlOf(sections)).trimEnd());
      }
      if (isFolder(output)) {
        for (const [name, things] of Object.entries(sections))
          put(join(output, `${name}.yaml`), await yamlOf({ [name]: things }));
        put(join(output, SCHEMA_FILE), await schemaText());
      } else {
        put(output, await yamlOf(sections));
        put(join(dirname(output), SCHEMA_FILE), await schemaText());
      }
      const counts = Object.fromEntries(Object.entries(sections).map(([name, { length }]) => [name, length]));
      if (flags.json) return host.out(JSON.stringify({ output, ...counts }));
      const counted = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
      host.out(`${output}: ${counted.join(", ")}. Next to it: ${SCHEMA_FILE}, with which editors check it.`);
    },
  }),
);

const isFolder = (path: string) => /[/\\]$/.test(path) || (existsSync(path) && statSync(path).isDirectory());

/** The schema that each file refers to. */
async function schemaText(): Promise<string> {
  const { schemaDocument, schemaUrn } = await import("../resources/openapi/schemas.ts");
  return `${JSON.stringify(schemaDocument("config", schemaUrn("config")))}\n`;
}

/** Replaces a file atomically. */
function put(path: string, text: string): void {
  const target = resolve(path);
  try {
    mkdirSync(join(target, ".."), { recursive: true });
    writeFileSync(`${target}.part`, text);
    renameSync(`${target}.part`, target);
  } catch (cause) {
    throw new ConfigError(`Couldn't write ${path}: ${fileReason(cause)}.`, { cause });
  }
}
