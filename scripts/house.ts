/**
 * The house rules that a compiler can't check.
 * `bun scripts/house.ts` prints each violation; `test/house/rules.test.ts` fails on any.
 *
 * 1. Floors. A file's name is its floor; an import goes down or stays level, never up. The page in web/ is separate.
 * 2. Words. What is passed through `App` is not also taken from globals.
 * 3. Circles. No files import values of each other in a circle, nor do the folders of one floor.
 * 4. Links. A decision that a text names exists.
 * 5. Marks. No text of the project mentions unfinished work or the machine it was written on.
 * 6. Names. Exported names use the words of the glossary in src/README.md.
 *
 * The patterns are spelled so that they don't match themselves.
 */
import { readdirSync, statSync } from "node:fs";
import { posix } from "node:path";

/** Floors from the ground up. A path's floor is the first one whose pattern matches. */
const FLOORS: readonly (readonly [floor: string, path: RegExp])[] = [
  ["base", /^src\/(base\/|version\.ts$)/],
  ["contract", /^src\/\w+\/contract(-\w+)?\.ts$/],
  [
    "adapter",
    /^src\/(executors|providers|models|catalog|compute|mcp|oauth|sql|lake|charts|reader|scripts|sheets|search|mail)\//,
  ],
  ["table", /^src\/(store|crypto)\/|^src\/resources\/[\w-]+\/(table|config)\.ts$/],
  [
    "context",
    /^src\/(context|config|config-pairs|config-shown|folder|folder-swap|installation|own-names|own-services|authorities|reset-requests)\.ts$/,
  ],
  ["wire", /^src\/resources\/[\w-]+\/wire(-\w+)?\.ts$/],
  ["service", /^src\/(?:queue|flows|resources\/[\w-]+)\/(?!(?:routes|page)\.)[\w./-]+\.ts$/],
  ["edge", /^src\/(http|engine)\//],
  ["routes", /^src\/resources\/[\w-]+\/(?:routes|page)\.ts$/],
  ["top", /^src\/(app|open-lake|server|calls)\.ts$/],
  ["command", /^src\/(cli\/|main\.ts$)/],
];

interface Rule {
  /** What the rule forbids. Comment lines are ignored. */
  word: RegExp;
  /** The files that the rule applies to. */
  where: RegExp;
  /** Files among them where it is allowed. */
  except?: RegExp;
  instead: string;
}

const SOURCE = /^src\/.*\.tsx?$/;
const WEB = /^web\/.*\.tsx?$/;
const CODE = /^(src|test|scripts|web)\/.*\.tsx?$/;

const WORDS: readonly Rule[] = [
  {
    word: /\bDate\.now\(|\bnew Date\(\)/,
    where: SOURCE,
    except: /^src\/base\/clock\.ts$/,
    instead: "ctx.clock",
  },
  { word: /\brandomUUID/, where: SOURCE, except: /^src\/base\/ids\.ts$/, instead: "ctx.ids" },
  { word: /\bprocess\.env\b/, where: SOURCE, except: /^src\/main\.ts$/, instead: "Config" },
  // Arguments in a list are never parsed by a shell.
  {
    word: /\bchild_process\b|\bBun\.\$|\bfrom "bun"|\bspawn(?:Sync)?\(\s*["'`[]+\s*["'`]?[\w/]*\b(?:sh|bash|cmd|powershell)\b/,
    where: SOURCE,
    instead: "Bun.spawn, with the program and its arguments in a list",
  },
  { word: /\bconsole\./, where: SOURCE, except: /^src\/(cli\/|main\.ts$)/, instead: "report" },
  // A call, not a method with this name: `egress.fetch(` and `fetch(request) {` are allowed.
  {
    word: /(?:\b(?:await|return|void|yield)\s+|[=(?:>!&|[][ \t]*)fetch\(|^[ \t]*fetch\([^:\n]*\)[;.]|\b(?:globalThis|Bun|window)\.fetch\b/m,
    where: SOURCE,
    except: /^src\/base\/egress[\w-]*\.ts$/,
    instead: "egress.fetch",
  },
  {
    word: /\bfrom "elysia"/,
    where: SOURCE,
    except: /^src\/(http\/|server\.ts$|resources\/[\w-]+\/routes\.ts$)/,
    instead: "routes.ts",
  },
  {
    word: /\bas an[y]\b|: an[y]\b|<an[y]>|\bany\[\]/,
    where: /^(src|web)\/.*\.tsx?$/,
    instead: "unknown, and a check",
  },
  { word: /(?<![.\w])fetch\(/, where: WEB, except: /^web\/api\.ts$/, instead: "call, of web/api.ts" },
  { word: /\bconsole\./, where: WEB, instead: "notify, of web/parts/base/toast.tsx" },
  // Text from a name or response is never parsed as markup or code.
  {
    word: /\b(?:dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b|\bnew Function\b/,
    where: WEB,
    instead: "elements",
  },
  // A bare participle doesn't say what the value is.
  {
    word: /\b(?:const|let|function)\s+(?:asked|given|held|said|told)\b/,
    where: /^(src|web)\/.*\.tsx?$/,
    instead: "a noun such as request, input or message",
  },
  { word: /@ts-(?:ig[n]ore|no[c]heck)/, where: CODE, instead: "a type that is right" },
  { word: /@ts-exp[e]ct-error/, where: SOURCE, instead: "a type that is right" },
  {
    word: /\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}|\.catch\(\s*\(\w*\)\s*=>\s*\{\s*\}\s*\)/,
    where: CODE,
    instead: "a comment that says why nothing is to be done, or let it through",
  },
  {
    word: /\b(?:test|it|describe)\.(?:on[l]y|to[d]o)\b/,
    where: CODE,
    instead: "a test that runs with the others",
  },
];

interface Name {
  /** Words of a name, lower case and singular. */
  words: readonly string[];
  /** Files in which one of them is the right word. */
  except?: RegExp;
  instead: string;
}

/** Ambiguous or unusual words. Local variables may use them. */
const NAMES: readonly Name[] = [
  {
    words: ["place", "placed"],
    except: /^src\/base\/template/,
    instead: "slot, position, path, address: what it is",
  },
  { words: ["hook"], instead: "webhook or subscription" },
  { words: ["mark"], instead: "state, key or cursor" },
  {
    words: ["turn"],
    except: /^(src\/resources|web\/parts)\/chat\/|^src\/base\/slices\.ts$/,
    instead: "a page's request, a slice, a round; a turn is a chat's",
  },
  { words: ["outcome"], except: /^src\/queue\//, instead: "result or attempt; an outcome is a run's" },
  { words: ["settle", "settled", "settlement"], instead: "end, finish, record or decide" },
  { words: ["look"], except: /^src\/base\/template/, instead: "check, poll, stat or style" },
  {
    words: ["asked", "deed", "given", "kept", "said", "taken", "tell", "told"],
    instead: "a noun (request, action, input, message), or what is done",
  },
  { words: ["fellow"], instead: "peer" },
  { words: ["shelf"], instead: "blob store" },
  { words: ["bench"], instead: "run context" },
  { words: ["doubt", "hopeful"], instead: "optimistic, OptimisticFailure" },
  {
    words: ["alerter", "expirer", "refresher", "replier", "talker", "watcher"],
    instead: "its object first, as in token refresher",
  },
];

/** Forbidden in every text of the project, including comments. */
const MARKS: readonly (readonly [mark: RegExp, meaning: string])[] = [
  [/\b(?:TO[D]O|FIX[M]E|X[X]X)\b/, "unfinished work"],
  [/\/(?:w[o]rk|f[a]rm)\/|(?<![\w.}-])\/(?:r[o]ot|h[o]me\/[\w.-]+)\//, "a path of one machine"],
  [/\/tmp\/ba[s]h_jobs|\.lib[r]ary\b|before-st[o]p|DEVEL[O]PERS\.md|COMP[A]SS/, "not of this project"],
  [/\bregistry\.(?:np[m]js|ya[r]npkg)\.|\bnp[m]js\.(?:org|com)\b/, "a registry host"],
];

/** What .gitignore excludes, and git itself. */
const OUTSIDE = new Set([".git", "node_modules", "dist", "out", "weir-data"]);

const MAX_ROOM_LINES = 400;

export interface Inspection {
  /** One line per violation, sorted. */
  breaches: string[];
  /** Outdated habits, sorted. They don't fail the check. */
  remarks: string[];
}

/** Inspects every text file under `root`. */
export async function inspect(root: string): Promise<Inspection> {
  const breaches: string[] = [];
  const remarks: string[] = [];
  const imports = new Map<string, string[]>();
  const texts = new Map<string, string>();
  for (const path of pathsUnder(root)) {
    const bytes = await Bun.file(`${root}/${path}`).bytes();
    if (bytes.includes(0)) continue;
    const text = new TextDecoder().decode(bytes);
    breaches.push(...marks(path, text), ...strays(path, text), ...deadLinks(root, path, text));
    if (SOURCE.test(path) || WEB.test(path)) {
      breaches.push(...oldNames(path, text));
      imports.set(path, valuesOf(path, text));
      texts.set(path, text);
    }
    if (!SOURCE.test(path) || path.endsWith(".d.ts")) continue;
    breaches.push(...climbs(path, text));
    const lines = text.split("\n").length - 1;
    if (lines > MAX_ROOM_LINES) remarks.push(`${path}: ${lines} lines; would you know your way in there?`);
  }
  for (const [path, text] of texts) {
    if (WEB.test(path)) breaches.push(...leaves(path, text, (target) => isPure(target, texts, imports)));
  }
  breaches.push(...circles(imports, "a circle of imports"));
  breaches.push(...circles(foldersOf(imports), "a circle of folders"));
  return { breaches: breaches.sort(), remarks: remarks.sort() };
}

function pathsUnder(root: string): string[] {
  return readdirSync(root)
    .filter((name) => !OUTSIDE.has(name))
    .flatMap((name) => {
      if (!statSync(`${root}/${name}`).isDirectory()) return name.endsWith(".log") ? [] : [name];
      const inside = new Bun.Glob("**/*").scanSync({ cwd: `${root}/${name}`, dot: true });
      return [...inside].map((path) => `${name}/${path}`);
    });
}

/** Decisions are named by their path from the root. */
function deadLinks(root: string, path: string, text: string): string[] {
  if (path.startsWith("test/house/")) return [];
  return [...text.matchAll(/\bdocs\/decisions\/[\w-]+\.md\b/g)]
    .filter(([target]) => statSync(`${root}/${target}`, { throwIfNoEntry: false }) === undefined)
    .map(([target]) => `${path}: names ${target}, which does not exist`);
}

const heightOf = (path: string) => FLOORS.findIndex(([, pattern]) => pattern.test(path));

const IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*"(\.{1,2}\/[^"]+\.tsx?)"/g;

function climbs(path: string, text: string): string[] {
  const height = heightOf(path);
  if (height < 0) return [`${path}: stands on no floor`];
  return [...withoutComments(text).matchAll(IMPORT)]
    .map(([, name]) => posix.join(posix.dirname(path), name ?? ""))
    .filter((target) => heightOf(target) > height || target.startsWith("web/"))
    .map((target) => `${path}: imports ${target}, which is higher up`);
}

/** Returns the files from which `path` imports more than types, at load time. */
function valuesOf(path: string, text: string): string[] {
  const code = withoutComments(text);
  return [...code.matchAll(/^(?:import|export)\b([^"';]*?)(?:\bfrom\s*)?"(\.{1,2}\/[^"]+\.tsx?)"/gm)]
    .filter(([, what = ""]) => !isOfTypes(what))
    .map(([, , name = ""]) => posix.join(posix.dirname(path), name));
}

function isOfTypes(what: string): boolean {
  if (/^\s*type\b/.test(what)) return true;
  const named = /^\s*\{([^}]*)\}\s*$/.exec(what)?.[1]?.split(",") ?? [];
  return named.length > 0 && named.every((name) => /^\s*(?:type\b.*)?$/s.test(name));
}

const FOLDER = /^(?:src\/(?:resources\/)?|web\/parts\/)[\w-]+(?=\/)/;

/** Returns which folders import values from which others on the same floor. The page's parts are grouped by folder. */
function foldersOf(imports: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [path, targets] of imports) {
    const [folder] = FOLDER.exec(path) ?? [];
    const level = targets.filter((target) => heightOf(target) === heightOf(path));
    const others = level.flatMap((target) => FOLDER.exec(target) ?? []).filter((other) => other !== folder);
    if (folder === undefined || others.length === 0) continue;
    const floor = FLOORS[heightOf(path)]?.[0] ?? "page";
    const place = `${folder} (${floor})`;
    const placed = others.map((other) => `${other} (${floor})`);
    found.set(place, [...new Set([...(found.get(place) ?? []), ...placed])]);
  }
  return found;
}

/** Returns one line for each import that closes a circle. */
function circles(imports: ReadonlyMap<string, readonly string[]>, what: string): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const walk = (path: string) => {
    const start = way.indexOf(path);
    if (start >= 0) found.push(`${[...way.slice(start), path].join(" → ")}: ${what}`);
    if (start >= 0 || done.has(path)) return;
    way.push(path);
    for (const target of imports.get(path) ?? []) walk(target);
    way.pop();
    done.add(path);
  };
  for (const path of [...imports.keys()].sort()) walk(path);
  return found;
}

const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|const|enum|function\*?|interface|let|type) (\w+)/gm;

/** Returns the words of a name: `openHookReader`, `HOOK_READER` and `hooks` contain "hook". */
const wordsOf = (name: string): string[] =>
  (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).flatMap((word) => {
    const small = word.toLowerCase();
    return [small, small.replace(/s$/, "")];
  });

function oldNames(path: string, text: string): string[] {
  return [...text.matchAll(EXPORTED)].flatMap(([, name = ""]) =>
    NAMES.filter(
      ({ words, except }) => !except?.test(path) && wordsOf(name).some((word) => words.includes(word)),
    ).map(({ instead }) => `${path}: exports ${name}; call it what it is: ${instead}`),
  );
}

const PAGE_MAY = "use its own files, types of the server, and pure modules of base/";

/** What no browser has: packages, runtime modules and globals. */
const RUNTIME =
  /^import\b(?!\s*type\b)[^"';]*"(?!\.)|^export\b(?!\s*type\b)[\s\w{},*]*\bfrom\s*"(?!\.)|\bimport\("(?!\.)|\b(?:Bun|Buffer|process)\b|\bimport\.meta\b/m;

/** Returns whether it is a module of base/ that only needs the language, including its imports. */
function isPure(
  path: string,
  texts: ReadonlyMap<string, string>,
  imports: ReadonlyMap<string, readonly string[]>,
): boolean {
  const reached = new Set([path]);
  for (const each of reached) for (const target of imports.get(each) ?? []) reached.add(target);
  return [...reached].every(
    (each) => each.startsWith("src/base/") && !RUNTIME.test(withoutComments(texts.get(each) ?? "Bun")),
  );
}

/**
 * The page may import the server's types and pure modules of base/,
 * so that it can't carry parts of the server into browsers.
 */
function leaves(path: string, text: string, isAllowed: (target: string) => boolean): string[] {
  return [
    ...withoutComments(text).matchAll(/(?:\bimport\b([^"';]*?)\bfrom|\bimport\(?)\s*"(\.{1,2}\/[^"]+)"/g),
  ]
    .map(([, what, name]) => ({
      isType: /^\s*type\b/.test(what ?? ""),
      target: posix.join(posix.dirname(path), name ?? ""),
    }))
    .filter(({ isType, target }) => !target.startsWith("web/") && !(isType && target.startsWith("src/")))
    .filter(({ target }) => !isAllowed(target))
    .map(({ target }) => `${path}: imports ${target} (${PAGE_MAY})`);
}

function strays(path: string, text: string): string[] {
  const code = withoutComments(text);
  return WORDS.filter(({ where, except }) => where.test(path) && !except?.test(path)).flatMap(
    ({ word, instead }) => {
      const found = word.exec(code);
      return found ? [`${at(path, code, found)}: ${shown(found)} (use ${instead})`] : [];
    },
  );
}

function marks(path: string, text: string): string[] {
  return MARKS.flatMap(([mark, meaning]) => {
    const found = mark.exec(text);
    return found ? [`${at(path, text, found)}: ${shown(found)} (${meaning})`] : [];
  });
}

/** Reduces comment-only lines to their slashes, so that line numbers don't change. */
const withoutComments = (text: string) => text.replace(/^[ \t]*(?:\/\/|\/?\*).*$/gm, "//");

const at = (path: string, text: string, found: RegExpExecArray) =>
  `${path}:${text.slice(0, found.index + found[0].search(/\S/)).split("\n").length}`;

const shown = (found: RegExpExecArray) => found[0].replace(/\s+/g, " ").trim();

if (import.meta.main) {
  const { breaches, remarks } = await inspect(`${import.meta.dir}/..`);
  for (const line of remarks) console.log(`note  ${line}`);
  for (const line of breaches) console.error(line);
  process.exit(breaches.length === 0 ? 0 : 1);
}
