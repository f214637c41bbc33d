/** The JSON text of EXPLAIN rows, without the file paths that EXPLAIN ANALYZE shows. */
export function withoutFiles(rows: string): string {
  return JSON.stringify(JSON.parse(rows), (_, value: unknown) =>
    typeof value === "string" ? withoutFileCells(value.replace(FILES_IN_JSON, "$1…$2")) : value,
  );
}

const FILES_IN_JSON = /("Filename\(s\)":\s*")(?:[^"\\]|\\.)*(")/g;

/** A plan is drawn in boxes, in which a long path takes several lines, up to an empty one. */
function withoutFileCells(plan: string): string {
  const within = new Set<number>();
  return plan
    .split("\n")
    .map((line) =>
      line.replace(/(?<=│)[^│]*(?=│)/g, (cell, at: number) => {
        const text = cell.trim();
        if (text === "Filename(s):") within.add(at);
        else if (text === "") within.delete(at);
        else if (within.has(at)) return " …".padEnd(cell.length);
        return cell;
      }),
    )
    .join("\n");
}
