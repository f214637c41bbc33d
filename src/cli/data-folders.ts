import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The data directory in the current directory, else the user's. */
export function dataFolderHere(env: Environment = {}): string {
  if (env.WEIR_DATA) return env.WEIR_DATA;
  return existsSync("weir-data") ? "./weir-data" : userDataFolder(env);
}

/** By the platform's conventions. */
function userDataFolder(env: Environment): string {
  const home = env.HOME || homedir();
  switch (process.platform) {
    case "darwin":
      return join(home, "Library", "Application Support", "Weir");
    case "win32":
      return join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "Weir");
    default: {
      // A relative XDG_DATA_HOME is ignored, as the XDG Base Directory Specification requires.
      const named = env.XDG_DATA_HOME;
      return join(named && isAbsolute(named) ? named : join(home, ".local", "share"), "weir");
    }
  }
}

/** The data directory of a system service. */
export function systemDataFolder(env: Environment): string {
  switch (process.platform) {
    case "darwin":
      return "/Library/Application Support/Weir";
    case "win32":
      return join(env.ProgramData || "C:\\ProgramData", "Weir");
    default:
      return "/var/lib/weir";
  }
}
