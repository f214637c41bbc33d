import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiReader } from "../../src/catalog/reader.ts";

test("of many concurrent descriptions, at most four are parsed, and the others are queued or rejected", async () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-descriptions-"));
  try {
    const [log, child] = [join(folder, "log"), join(folder, "child.ts")];
    writeFileSync(log, "");
    writeFileSync(
      child,
      `import { appendFileSync } from "node:fs";
       appendFileSync(${JSON.stringify(log)}, "+");
       await Bun.sleep(500);
       appendFileSync(${JSON.stringify(log)}, "-");
       await Bun.write(Bun.stdout, '{"api":null}');`,
    );
    const text = `openapi: 3.0.0 # ${"x".repeat(9_000)}`;
    const gone = new AbortController();
    const read = ({ signal }: AbortController) =>
      apiReader([process.execPath, child], signal).content(text, "openapi", null);
    const all = Array.from({ length: 8 }, () => read(new AbortController()));
    const left = read(gone);
    gone.abort(new Error("gone"));
    await expect(left).rejects.toMatchObject({ code: "cancelled" });
    expect(await Promise.all(all)).toEqual(all.map(() => null));
    let open = 0;
    const most = Math.max(...[...readFileSync(log, "utf8")].map((sign) => (open += sign === "+" ? 1 : -1)));
    expect(open).toBe(0);
    expect(most).toBeLessThanOrEqual(4);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
