import { resolve } from "node:path";
import { AppError } from "../../base/errors.ts";

const TRIAL_MS = 30_000;
/** Maximum length of a program's output. */
const MAX_CHARACTERS = 500;

export interface About {
  version: string;
  commit: string | null;
}

/**
 * Returns the output of `PROGRAM version --json`. Throws `invalid_state` if the program doesn't start here,
 * or prints something else.
 */
export async function aboutProgram(path: string, shown = path): Promise<About> {
  const refuse = (why: string) =>
    new AppError("invalid_state", `${shown} doesn't run on this machine: ${why}.`);
  const child = start(path, refuse);
  const [code, out, err] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if (code !== 0) {
    const output = err.trim().slice(0, MAX_CHARACTERS);
    throw refuse(
      `it ended with ${child.signalCode ?? `exit code ${code}`}${output === "" ? "" : ` (${output})`}`,
    );
  }
  const about = aboutIn(out);
  if (about === null) throw refuse("it didn't report a Weir version");
  return about;
}

function start(path: string, refuse: (why: string) => AppError) {
  try {
    // A bare name would be looked up on the PATH, and could run another program.
    return Bun.spawn([resolve(path), "version", "--json"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: TRIAL_MS,
      killSignal: "SIGKILL",
    });
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}

function aboutIn(text: string): About | null {
  try {
    const { version, commit } = JSON.parse(text) as Partial<About>;
    return typeof version === "string"
      ? { version, commit: typeof commit === "string" ? commit : null }
      : null;
  } catch {
    return null; // the caller reports what is missing
  }
}
