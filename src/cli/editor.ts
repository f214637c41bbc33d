import { codeOf } from "../base/disk.ts";
import { AppError } from "../base/errors.ts";
import type { Host } from "./host.ts";

/** Opens a file in the editor from `$VISUAL` or `$EDITOR`, and waits until the user closes it. */
export async function editFile({ env = {} }: Pick<Host, "env">, path: string): Promise<void> {
  const named = env.VISUAL || env.EDITOR || (process.platform === "win32" ? "notepad" : "vi");
  const command = wordsOf(named);
  const fault = (why: string) =>
    new AppError("unavailable", `Couldn't use the editor ${named}: ${why}. Set another one in EDITOR.`);
  try {
    const editor = Bun.spawn([...command, path], { stdio: ["inherit", "inherit", "inherit"] });
    const code = await editor.exited;
    if (code !== 0) throw fault(`it ended with exit code ${code}`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw fault(codeOf(error) === "ENOENT" ? "it was not found" : String(error));
  }
}

/** Splits a command into words, such as `code --wait`. Quotes preserve spaces. No shell is involved. */
function wordsOf(command: string): string[] {
  const words = command.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, one, two) => one ?? two));
}
