import { RangeBeyondEnd } from "../base/errors.ts";

/**
 * Throws `range_not_satisfiable` for a range that begins at or after the end of a file. Bun returns parts of files
 * itself, but would send this error without a body.
 */
export function refuseRangeBeyond(headers: Headers, size: number): void {
  if (headers.has("if-range")) return; // Files have no ETag that could match, so the whole file is returned.
  const [, first = "", last = ""] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(headers.get("range") ?? "") ?? [];
  const isBeyond = first === "" ? last !== "" && Number(last) === 0 : Number(first) >= size;
  if (isBeyond) throw new RangeBeyondEnd(size);
}
