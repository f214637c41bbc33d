import { toWebFile, type WebFile } from "./web-file.ts";

/**
 * The admin page, bundled from web/ when first asked for. In the executable this whole module is another one,
 * which carries the files (`embedWeb` in scripts/plugins.ts).
 */
export async function openWebFiles(): Promise<WebFile[]> {
  const { keptWeb } = await import("../../scripts/kept-web.ts");
  return (await keptWeb()).map(toWebFile);
}
