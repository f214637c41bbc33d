import { type Chore, doChore } from "../base/chore.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { measure } from "../base/measure.ts";

/** YAML takes fifty times as long to read as JSON; what is longer than this is read in a process of its own. */
const MAX_HERE_CHARACTERS = 8 * 1024;
/** Aliases that one document may follow: enough for honest ones, far from what a bomb needs. */
const MAX_ALIASES = 100;
const MAX_UNFOLDED_CHARACTERS = 32 * 1024 * 1024;

/** The value of YAML text. Throws `bad_request` with the reason alone for its message. */
export type ReadYaml = (text: string) => Promise<Json>;

const READ: Chore = {
  word: "__yaml",
  timeoutMs: 20_000,
  maxResidentBytes: 1024 * 1024 * 1024,
  tooMuch: (why) => new AppError("bad_request", `it takes ${why} to read; give it as JSON`),
};

/** Reads YAML by `self`, the command that starts this program. */
export const yamlBy =
  (self: readonly string[], signal: AbortSignal): ReadYaml =>
  async (text) => {
    if (text.length <= MAX_HERE_CHARACTERS) return readYamlHere(text);
    const told = await doChore(self, READ, text, signal);
    if (isObject(told) && typeof told.fault === "string") throw new AppError("bad_request", told.fault);
    return isObject(told) ? (told.value ?? null) : null;
  };

/** Reads YAML from standard input, and writes its value or what is wrong with it. The exit code. */
export async function yamlChild(): Promise<number> {
  const text: string = await Bun.stdin.json();
  const told = await readYamlHere(text).then(
    (value) => ({ value }),
    (error) => ({ fault: reasonOf(error) }),
  );
  await Bun.write(Bun.stdout, JSON.stringify(told));
  return 0;
}

/** The same in this thread, after all that waits for it. */
export const readYamlHere: ReadYaml = async (text) => {
  const { parse } = await import("yaml");
  await Bun.sleep(0);
  let value: Json;
  try {
    value = parse(text, {
      schema: "core",
      maxAliasCount: MAX_ALIASES,
      prettyErrors: false,
      logLevel: "error",
      stringKeys: true,
      uniqueKeys: false, // compares each key with all others
    });
  } catch (error) {
    throw new AppError("bad_request", reasonOf(error));
  }
  if (measure(value, MAX_UNFOLDED_CHARACTERS) > MAX_UNFOLDED_CHARACTERS)
    throw new AppError("bad_request", "its aliases unfold to too much");
  return value;
};

export const reasonOf = (error: unknown) =>
  (error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error))
    .replace(/^JSON Parse error: /, "")
    .slice(0, 200)
    .replace(/[.:]+$/, "");
