import { toWebFile, type WebFile } from "./web-file.ts";

/**
 * The admin page, bundled from web/ on first use.
 * The executable replaces this module with one that embeds the files (`embedWeb` in scripts/plugins.ts).
 */
export async function openWebFiles(): Promise<WebFile[]> {
  const { keptWeb } = await import("../../scripts/kept-web.ts");
  return (await keptWeb()).map(toWebFile);
}
