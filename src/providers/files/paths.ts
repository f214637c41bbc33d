import { AppError } from "../../base/errors.ts";
import { REPLACEMENT } from "../../base/folder-entries.ts";

/** Folder for incomplete uploads, which is hidden and unreachable. */
export const PARTS_FOLDER = ".weir-parts";

/** Splits a path below a root. Throws `bad_request` for one that could lead elsewhere. */
export function splitPath(path: string): string[] {
  const parts = partsOf(path);
  const fault = pathFault(path, parts);
  if (fault) throw new AppError("bad_request", `The path ${fault}.`, { details: { rule: "outside_root" } });
  return parts;
}

/** Says what is wrong with the path of a file to write, or null. */
export function fileFault(path: string): string | null {
  if (path.replace(/^\//, "").split("/").includes("")) return "a folder in it has no name";
  const fault = pathFault(path, partsOf(path));
  return fault && `its path ${fault}`;
}

const partsOf = (path: string): string[] => path.split("/").filter((part) => part !== "");

function pathFault(path: string, parts: readonly string[]): string | null {
  if (parts.some((part) => part === "." || part === "..")) return `can't contain "." or ".." between slashes`;
  if (path.includes("\\")) return "can't contain a backslash";
  if (/\p{Cc}/u.test(path)) return "can't contain control characters";
  if (!path.isWellFormed()) return "is not valid Unicode";
  if (Buffer.byteLength(path) > 1_024) return "is longer than 1,024 bytes";
  if (parts.some((part) => Buffer.byteLength(part) > 255)) return "has a name longer than 255 bytes";
  return parts.includes(PARTS_FOLDER) ? `can't contain the name ${PARTS_FOLDER}` : null;
}

export const noSuchPath = (path: string): AppError =>
  new AppError(
    "not_found",
    `File or folder ${JSON.stringify(path)} not found.${path.includes(REPLACEMENT) ? " If its name is not valid UTF-8, rename it." : ""}`,
  );

/** Why a file or folder can't be read, as clauses. */
export const MISNAMED = "its name is not valid UTF-8";
export const GONE = "it disappeared while the folder was being read";
