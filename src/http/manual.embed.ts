import { toWebFile, type WebFile } from "./web-file.ts";

/** The documents as pages below /docs/, built from docs/ on first use. The executable embeds them (`embedManual`). */
export async function openManualFiles(): Promise<WebFile[]> {
  const { buildManual } = await import("../../scripts/manual.ts");
  return buildManual().map(toWebFile);
}
