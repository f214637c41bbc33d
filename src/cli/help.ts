import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { usage, usageOf } from "./usage.ts";

const COMMAND_WIDTH = 16;

/** `weir help`: all commands, or one of them with its flags. */
export const help = (args: readonly string[], host: Host) =>
  carryOut(host, usage.help.line, async () => {
    const { positionals } = readArgs({ args: [...args], allowPositionals: true, options: {} });
    const [command, ...more] = positionals;
    if (command === undefined) return host.out(overview());
    const about = usageOf(command);
    if (!about || more.length > 0) throw new UsageError(`There is no command ${positionals.join(" ")}.`);
    const verbs = Object.values(about.verbs ?? {});
    host.out(
      [
        `Usage: ${about.line}`,
        "",
        ...verbs.map((line) => `  ${line}`),
        ...(verbs.length > 0 ? [""] : []),
        about.text,
      ].join("\n"),
    );
  });

/** All commands, a line each; the README has it too. */
export function overview(): string {
  const lines = Object.entries(usage).map(([name, { gist }]) => `  ${name.padEnd(COMMAND_WIDTH)}${gist}`);
  return [
    "Weir: automation and data integration in one file.",
    "",
    "Usage: weir COMMAND [FLAGS]",
    "",
    ...lines,
    "",
    "weir help COMMAND tells more. Exit codes: 0 done, 1 failed, 2 called wrongly, 3 not signed in.",
  ].join("\n");
}
