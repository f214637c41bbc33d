import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { BunPlugin } from "bun";
import type { BuiltFile } from "./web.ts";

const project = join(import.meta.dir, "..");
const modules = join(project, "node_modules");

const LIBRARY: Readonly<Record<string, string>> = {
  darwin: "libduckdb.dylib",
  win32: "duckdb.dll",
};

/**
 * Embeds DuckDB's library and its Node module, both of `platform` (`linux-x64`). Its own loader picks a
 * package by a name made at run time, which a compiled file can't follow.
 */
export const duckdbNative = (platform: string): BunPlugin => ({
  name: "duckdb-native",
  setup(build) {
    build.onLoad({ filter: /[\\/]@duckdb[\\/]node-bindings[\\/]duckdb\.js$/ }, async () => {
      const home = join(modules, "@duckdb", `node-bindings-${platform}`);
      const names = [LIBRARY[platform.split("-")[0] ?? ""] ?? "libduckdb.so", "duckdb.node"];
      const { version } = (await Bun.file(join(home, "package.json")).json()) as { version: string };
      const hash = createHash("sha256");
      for (const name of names) hash.update(await Bun.file(join(home, name)).bytes());
      const folder = `duckdb-${version}-${platform}-${hash.digest("hex").slice(0, 16)}`;
      const lines = names.map(
        (name, at) => `import file${at} from ${JSON.stringify(join(home, name))} with { type: "file" };`,
      );
      const files = names.map((name, at) => `{ name: ${JSON.stringify(name)}, source: file${at} }`);
      return {
        loader: "js",
        contents: `${lines.join("\n")}
import { loadNative } from ${JSON.stringify(join(import.meta.dir, "unpack.ts"))};
module.exports = loadNative(${JSON.stringify(folder)}, [${files.join(", ")}]);
`,
      };
    });
  },
});

/**
 * Embeds the admin page: src/http/web.embed.ts becomes a module that carries `files`, each raw and compressed.
 * They are laid in `folder` for the bundler, which must last until the build is done.
 */
export const embedWeb = (files: readonly BuiltFile[], folder: string): BunPlugin => ({
  name: "embed-web",
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/]http[\\/]web\.embed\.ts$/ }, () => {
      const imports: string[] = [];
      const carry = (name: string, path: string, bytes: Uint8Array) => {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), bytes);
        imports.push(`import ${name} from ${JSON.stringify(join(folder, path))} with { type: "file" };`);
        return `Bun.file(${name})`;
      };
      const rows = files.map(({ path, type, isHashed, bytes }, at) => {
        const body = carry(`file${at}`, path, bytes);
        const small = /^(text|image\/svg|application\/(json|javascript))/.test(type)
          ? carry(`brotli${at}`, `${path}.br`, brotliCompressSync(bytes, BEST))
          : "null";
        const etag = `"${Bun.hash(bytes).toString(36)}"`;
        return `{ ${Object.entries({ path, type, isHashed, etag })
          .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
          .join(", ")}, body: ${body}, brotli: ${small} }`;
      });
      return {
        loader: "js",
        contents: `${imports.join("\n")}\nexport const openWebFiles = async () => [${rows.join(",\n")}];\n`,
      };
    });
  },
});

const BEST = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };

/**
 * Stops the build when a native module other than DuckDB's would come along: it would need a plugin of its
 * own to be unpacked, and 10 MB. `@libsql/client` has one, `@libsql/client/http` has none.
 */
export const noOtherNative: BunPlugin = {
  name: "no-other-native",
  setup(build) {
    build.onResolve({ filter: /^libsql$|^@libsql\/(linux|darwin|win32)-/ }, ({ path, importer }) => {
      throw new Error(`${importer} imports ${path}: use @libsql/client/http, which has no native module`);
    });
    build.onLoad({ filter: /\.node$/ }, ({ path }) => {
      if (basename(path) === "duckdb.node") return undefined;
      throw new Error(`${path} is a native module that the executable can't carry`);
    });
  },
};

/**
 * `new URL("./x.worker.ts", import.meta.url)` names a file beside the source. In the executable all chunks
 * lie in one folder and an entrypoint under its own path, so the name is written anew for there.
 */
export const workerAddresses: BunPlugin = {
  name: "worker-addresses",
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const source = await Bun.file(path).text();
      const contents = source.replace(WORKER_ADDRESS, (_, name: string) => {
        if (isWorker(path))
          throw new Error(`${path} is a Worker and starts another: its address is not known`);
        const inside = relative(project, join(dirname(path), name)).replaceAll("\\", "/");
        return `new URL("./${inside.replace(/\.ts$/, ".js")}", import.meta.url)`;
      });
      return contents === source ? undefined : { contents, loader: "ts" };
    });
  },
};

const WORKER_ADDRESS = /new URL\(\s*"(\.[^"]*[.-]worker\.ts)",\s*import\.meta\.url,?\s*\)/g;

/** A file that runs as a Worker says so in its name; the build makes an entrypoint of each. */
export const isWorker = (path: string): boolean => /[.-]worker\.ts$/.test(path);
