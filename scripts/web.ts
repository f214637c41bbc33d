import { join } from "node:path";
import type { BunPlugin } from "bun";
import tailwind from "bun-plugin-tailwind";

export interface BuiltFile {
  /** Relative to the root of the server, without a leading slash: `assets/main-1a2b3c4d.js`. */
  path: string;
  type: string;
  /** Its name changes with its content, so that browsers can cache it permanently. */
  isHashed: boolean;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Bundles web/ once, for starts from source, for tests and for the executable:
 * hashed names, a chunk for each page, nothing inline. Never called from a bundler plugin, which would hang.
 */
export async function buildWeb(
  options: { minify?: boolean; plugins?: readonly BunPlugin[] } = {},
): Promise<BuiltFile[]> {
  const { minify = true, plugins = [] } = options;
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "../web/index.html")],
    target: "browser",
    minify,
    splitting: true,
    publicPath: "/",
    naming: {
      entry: "[name].[ext]",
      chunk: "assets/[name]-[hash].[ext]",
      asset: "assets/[name]-[hash].[ext]",
    },
    define: { "process.env.NODE_ENV": JSON.stringify(minify ? "production" : "development") },
    plugins: [...plugins, tailwind],
    sourcemap: "none",
  });
  return Promise.all(
    built.outputs.map(async (output) => ({
      path: output.path.replace(/^\.?\//, ""),
      type: output.type,
      isHashed: /-[a-z0-9]{8}\.\w+$/.test(output.path),
      bytes: new Uint8Array(await output.arrayBuffer()),
    })),
  );
}
