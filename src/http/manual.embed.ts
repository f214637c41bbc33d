import { toWebFile, type WebFile } from "./web-file.ts";

/** The documents as pages below /docs/, made of docs/ when first asked for; carried by the executable (`embedManual`). */
export async function openManualFiles(): Promise<WebFile[]> {
  const { buildManual } = await import("../../scripts/manual.ts");
  return buildManual().map(toWebFile);
}
