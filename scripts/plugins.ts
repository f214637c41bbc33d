import { createHash } from "node:crypto";
import { basename, dirname, join, relative } from "node:path";
import { zstdCompressSync } from "node:zlib";
import type { BunPlugin, PluginBuilder } from "bun";
import type { Compression } from "./compressed.ts";
import type { BuiltFile } from "./web.ts";

const project = join(import.meta.dir, "..");

const LIBRARY: Readonly<Record<string, string>> = {
  darwin: "libduckdb.dylib",
  win32: "duckdb.dll",
};

/**
 * Embeds DuckDB's library and its Node module, both of `platform` (`linux-x64`) from `packages`, compressed.
 * Its own loader chooses a package by a name that is computed at run time, which a compiled file can't resolve.
 */
export const duckdbNative = (platform: string, packages: string, { zstd }: Compression): BunPlugin => ({
  name: "duckdb-native",
  setup(build) {
    const home = join(packages, "@duckdb", `node-bindings-${platform}`);
    const library = LIBRARY[platform.split("-")[0] ?? ""] ?? "libduckdb.so";
    carryFiles(build, "duckdb-native", async (name) => zstd(await Bun.file(join(home, name)).bytes()));
    build.onResolve({ filter: /^weir-unpack$/ }, () => ({ path: join(import.meta.dir, "unpack.ts") }));
    build.onLoad({ filter: /[\\/]@duckdb[\\/]node-bindings[\\/]duckdb\.js$/ }, async () => {
      const names = [library, "duckdb.node"];
      const { version } = (await Bun.file(join(home, "package.json")).json()) as { version: string };
      const hash = createHash("sha256");
      for (const name of names) hash.update(await Bun.file(join(home, name)).bytes());
      const folder = `duckdb-${version}-${platform}-${hash.digest("hex").slice(0, 16)}`;
      const lines = names.map((name, at) => `import file${at} from "duckdb-native:${name}";`);
      const files = names.map(
        (name, at) =>
          `{ name: ${JSON.stringify(name)}, source: file${at}, size: ${Bun.file(join(home, name)).size} }`,
      );
      return {
        loader: "js",
        contents: `${lines.join("\n")}
import { loadNative } from "weir-unpack";
module.exports = loadNative(${JSON.stringify(folder)}, [${files.join(", ")}]);
`,
      };
    });
  },
});

/**
 * Resolves files as `SCHEME:NAME`, for a module that a plugin writes:
 * its text is included in the executable's source map, and paths would reveal the build folder.
 */
function carryFiles(build: PluginBuilder, scheme: string, read: (name: string) => Promise<Uint8Array>): void {
  build.onResolve({ filter: new RegExp(`^${scheme}:`) }, ({ path }) => ({
    path: path.slice(scheme.length + 1),
    namespace: scheme,
  }));
  build.onLoad({ filter: /./, namespace: scheme }, async ({ path }) => ({
    contents: await read(path),
    loader: "file",
  }));
}

/** Embeds the admin page: replaces src/http/web.embed.ts with a module that contains `files`. */
export const embedWeb = (files: readonly BuiltFile[], by: Compression): BunPlugin =>
  embedFiles("embed-web", /[\\/]src[\\/]http[\\/]web\.embed\.ts$/, "openWebFiles", files, by);

/** Embeds the documents in the same way, replacing src/http/manual.embed.ts. */
export const embedManual = (files: readonly BuiltFile[], by: Compression): BunPlugin =>
  embedFiles("embed-manual", /[\\/]src[\\/]http[\\/]manual\.embed\.ts$/, "openManualFiles", files, by);

/** Replaces the module at `filter` with one whose function `opens` returns `files`, each raw and compressed. */
const embedFiles = (
  scheme: string,
  filter: RegExp,
  opens: string,
  files: readonly BuiltFile[],
  { brotli }: Compression,
): BunPlugin => ({
  name: scheme,
  setup(build) {
    const carried = new Map<string, Uint8Array>();
    carryFiles(build, scheme, async (name) => carried.get(name) ?? refuse(name));
    build.onLoad({ filter }, () => {
      const imports: string[] = [];
      const carry = (name: string, path: string, bytes: Uint8Array) => {
        carried.set(path, bytes);
        imports.push(`import ${name} from "${scheme}:${path}";`);
        return `Bun.file(${name})`;
      };
      const rows = files.map(({ path, type, isHashed, bytes }, at) => {
        const body = carry(`file${at}`, path, bytes);
        const small = /^(text|image\/svg|application\/(json|javascript))/.test(type)
          ? carry(`brotli${at}`, `${path}.br`, brotli(bytes))
          : "null";
        const etag = `"${Bun.hash(bytes).toString(36)}"`;
        return `{ ${Object.entries({ path, type, isHashed, etag })
          .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
          .join(", ")}, body: ${body}, brotli: ${small} }`;
      });
      return {
        loader: "js",
        contents: `${imports.join("\n")}\nexport const ${opens} = async () => [${rows.join(",\n")}];\n`,
      };
    });
  },
});

function refuse(name: string): never {
  throw new Error(`There is no file ${name} to include.`);
}

/** Reports each file of a package that a build reads. Must be the build's first plugin. */
export const notePackages = (note: (path: string) => void): BunPlugin => ({
  name: "note-packages",
  setup(build) {
    build.onLoad({ filter: /[\\/]node_modules[\\/]/ }, ({ path }) => {
      note(path);
      return undefined;
    });
  },
});

/** Embeds what `weir licenses` prints, as `list` returns it once all other files have been read. */
export const carryLicenses = (list: () => unknown): BunPlugin => ({
  name: "carry-licenses",
  setup(build) {
    carryFiles(build, "carry-licenses", async () => zstdCompressSync(JSON.stringify(list())));
    build.onLoad({ filter: /[\\/]src[\\/]cli[\\/]licenses\.embed\.ts$/ }, async ({ defer }) => {
      await defer();
      return {
        loader: "js",
        contents: `import packed from "carry-licenses:licenses.json.zst";
export const openLicenses = async () =>
  JSON.parse(new TextDecoder().decode(Bun.zstdDecompressSync(await Bun.file(packed).bytes())));
`,
      };
    });
  },
});

const LONG_LOOP = /for \(let i = 128; i < 65536; i\+\+\) \{\s*IS_IDENTIFIER_CHAR\[i\] = 1;\s*\}/;

/**
 * Fills a table of sucrase without a loop. In the executable, the loop is in the one function that contains the whole
 * bundle, which takes the compiler 100 MB to optimize at run time.
 */
export const fillTables: BunPlugin = {
  name: "fill-tables",
  setup(build) {
    build.onLoad(
      { filter: /[\\/]sucrase[\\/]dist[\\/]esm[\\/]parser[\\/]util[\\/]identifier\.js$/ },
      async ({ path }) => {
        const source = await Bun.file(path).text();
        if (!LONG_LOOP.test(source)) throw new Error(`${path} has no loop to replace any more`);
        return { contents: source.replace(LONG_LOOP, "IS_IDENTIFIER_CHAR.fill(1, 128);"), loader: "js" };
      },
    );
  },
};

/**
 * Stops the build if a native module other than DuckDB's would be included:
 * it would need a plugin to unpack it, and 10 MB. `@libsql/client` has one, `@libsql/client/http` has none.
 * `ssh2` works without its native modules, which only make it faster.
 */
export const noOtherNative: BunPlugin = {
  name: "no-other-native",
  setup(build) {
    build.onResolve({ filter: /^libsql$|^@libsql\/(linux|darwin|win32)-/ }, ({ path, importer }) => {
      throw new Error(`${importer} imports ${path}: use @libsql/client/http, which has no native module`);
    });
    build.onResolve({ filter: /^cpu-features$|sshcrypto\.node$/ }, ({ path }) => ({
      path,
      namespace: "left-out",
    }));
    build.onLoad({ filter: /./, namespace: "left-out" }, ({ path }) => ({
      loader: "js",
      contents: `throw new Error(${JSON.stringify(`${path} is not carried.`)});`,
    }));
    build.onLoad({ filter: /\.node$/ }, ({ path }) => {
      if (basename(path) === "duckdb.node") return undefined;
      throw new Error(`${path} is a native module that the executable can't carry`);
    });
  },
};

/**
 * `new URL("./x.worker.ts", import.meta.url)` names a file next to the source.
 * In the executable, all chunks are in one folder and an entrypoint has its own path, so the name is rewritten.
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

/** A file that runs as a Worker has a name that says so. The build makes an entrypoint of each. */
export const isWorker = (path: string): boolean => /[.-]worker\.ts$/.test(path);
