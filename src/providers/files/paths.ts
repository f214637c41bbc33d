import { AppError } from "../../base/errors.ts";

/** Folder for incomplete uploads, which is hidden and unreachable. */
export const PARTS_FOLDER = ".weir-parts";

/** Splits a path below a root. Throws `bad_request` for one that could lead elsewhere. */
export function splitPath(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "");
  const fault = parts.some((part) => part === "." || part === "..")
    ? 'may not hold "." or ".." between slashes'
    : path.includes("\\")
      ? "may not hold a backslash"
      : /\p{Cc}/u.test(path)
        ? "may not hold control characters"
        : !path.isWellFormed()
          ? "is not valid Unicode"
          : Buffer.byteLength(path) > 1_024
            ? "is longer than 1,024 bytes"
            : parts.some((part) => Buffer.byteLength(part) > 255)
              ? "has a name longer than 255 bytes"
              : parts.includes(PARTS_FOLDER)
                ? `may not hold the name ${PARTS_FOLDER}`
                : null;
  if (fault) throw new AppError("bad_request", `The path ${fault}.`, { details: { rule: "outside_root" } });
  return parts;
}

export const noSuchPath = (path: string): AppError =>
  new AppError("not_found", `There is no file or folder ${JSON.stringify(path)}.`);
