/** Expressions that return something of the host if a sandbox has a hole. */
const FOUND = [
  ...["this", "globalThis", "self", "window", "global", "frames", "top", "parent"],
  ...["process", "Bun", "Deno", "require", "module", "exports", "__dirname", "import.meta"],
  ...["fetch", "XMLHttpRequest", "WebSocket", "Worker", "WebAssembly", "navigator", "crypto", "caches"],
  ...[
    "setTimeout",
    "setInterval",
    "setImmediate",
    "queueMicrotask",
    "requestAnimationFrame",
    "MessageChannel",
  ],
  ...["std", "os", "scriptArgs", "print", "load", "loadScript", "readFile", "gc", "bjson", "Atomics"],
  ...[
    "SharedArrayBuffer",
    "Intl",
    "performance",
    "structuredClone",
    "TextDecoder",
    "ShadowRealm",
    "Temporal",
  ],
  ...[
    "__ask",
    "__say",
    "__now",
    "__seed",
    "__proto__",
    "weir.constructor",
    "weir.__proto__",
    "weir.sql.caller",
  ],
  'Function("return this")()',
  'Function("return process")()',
  'new Function("return globalThis")()',
  '(0, eval)("this")',
  'eval("process")',
  '[].constructor.constructor("return this")()',
  '"".constructor.constructor("return process")()',
  '(() => {}).constructor("return this")()',
  '(async () => {}).constructor("return this")()',
  '(function* () {}).constructor("return this")().next().value',
  '(async function* () {}).constructor("return this")().next()',
  'weir.sql.constructor("return this")()',
  'weir.http.constructor("return process")()',
  'console.log.constructor("return this")()',
  'Date.constructor("return this")()',
  'Date.now.constructor("return this")()',
  'Math.random.constructor("return this")()',
  'input.constructor.constructor("return this")()',
  "Object.getPrototypeOf(weir)",
  "Object.getPrototypeOf(weir.sql)",
  "Object.getOwnPropertyDescriptors(weir)",
  "Reflect.ownKeys(globalThis)",
  "Object.getPrototypeOf(globalThis)",
  "Object.getPrototypeOf(async function () {}).constructor",
  "Object.getPrototypeOf(function* () {}).prototype",
  "(function () { return this })()",
  "(function () { return arguments.callee })()",
  "(function f() { return f.caller })()",
  "(function () { return (function () { return arguments.callee.caller })() })()",
  "new Error().stack",
  'new Error("x").constructor.prepareStackTrace',
  "Error.captureStackTrace",
  "(() => { Error.prepareStackTrace = (e, frames) => frames; return new Error().stack })()",
  '(() => { try { null.x } catch (e) { return e.constructor.constructor("return this")() } })()',
  '(() => { try { (function f() { f() })() } catch (e) { return e.constructor.constructor("return process")() } })()',
  '(() => { try { BigInt("x") } catch (e) { return e.constructor.constructor("return this")() } })()',
  '(() => { try { decodeURIComponent("%") } catch (e) { return e.constructor.constructor("return this")() } })()',
  '(() => { try { new Array(-1) } catch (e) { return e.constructor.constructor("return this")() } })()',
  '(() => { try { JSON.parse("{") } catch (e) { return e.constructor.constructor("return this")() } })()',
  '(() => { try { new RegExp("(") } catch (e) { return e.constructor.constructor("return this")() } })()',
  'await weir.sql("x").catch((e) => e.constructor.constructor("return this")())',
  'await weir.http("x", {}).catch((e) => e.constructor.constructor("return process")())',
  'weir.sql("x").catch(() => 1).constructor.constructor("return this")()',
  'await import("fs").catch((e) => e.constructor.constructor("return this")())',
  'await import("node:process").catch(() => null)',
  'await import("bun").catch(() => null)',
  'await import("./script.ts").catch(() => null)',
  'await import("script.ts").catch(() => null)',
  'await import("/etc/passwd").catch(() => null)',
  'await import("file:///etc/passwd").catch(() => null)',
  'await import("data:text/javascript,export default globalThis").catch(() => null)',
  'await import("https://example.com/x.js").catch(() => null)',
  'await import({ toString: () => "fs" }).catch(() => null)',
  "await eval(\"import('fs')\").catch(() => null)",
  "await Function(\"return import('fs')\")().catch(() => null)",
  "new Proxy(globalThis, {}).process",
  "new Proxy(function () {}, { apply: (t, self) => self })()",
  "Reflect.apply(function () { return this }, undefined, [])",
  "Reflect.construct(Function, ['return this'])()",
  "Reflect.get(globalThis, 'process')",
  "Object.create(globalThis).process",
  "Symbol.for('nodejs.util.inspect.custom') in globalThis",
  "globalThis[Symbol.toStringTag]",
  "[].map.call([1], function () { return this })[0]",
  "[1].map(eval)",
  "JSON.parse('1', function () { return this })",
  "JSON.stringify({ toJSON() { return Object.keys(this) } })",
  "'a'.replace(/a/, function () { return typeof this })",
  "[2, 1].sort(function () { return this === undefined ? 0 : 1 })",
  "new Map([[1, 2]]).forEach(function () { globalThis.seen = this })",
  "Array.from({ length: 1 }, function () { return this })[0]",
  "Object.assign(() => {}, { call: globalThis.call }).call",
  "((...a) => a).apply(globalThis, [globalThis])[0]",
  "({ get x() { return this } }).x.constructor.constructor('return process')()",
  "({ valueOf() { return this.constructor.constructor('return this')() } }).valueOf()",
  "new (class extends Function { constructor() { super('return this') } })()()",
  "(() => { class A { static #p = globalThis; static p() { return A.#p } } return A.p() })()",
  "new Promise(function (r) { r(this) })",
  "Promise.resolve().then(function () { return this })",
  "Promise.all([weir.sql('x').catch(() => this)])",
  "({ then(f) { f(globalThis) } })",
  "await { then: (f) => f(globalThis) }",
  "new WeakRef(globalThis).deref()",
  "new FinalizationRegistry(() => {})",
  "new ArrayBuffer(8).transfer?.(16)",
  "new Uint8Array(new ArrayBuffer(8), 0, 8).buffer",
  "Object.getOwnPropertyNames(Function.prototype)",
  "Function.prototype.toString.call(weir.sql)",
  "Function.prototype.toString.call(console.log)",
  "Object.groupBy?.([1], () => 'a')",
  "new Function`return this`()",
  "String.raw`a`.constructor.constructor('return this')()",
];

/** What none of them may be, or lead to. */
const LOOK = `const look = (found) => {
  const names = ["process", "Bun", "require", "fetch", "WebAssembly", "Deno", "setTimeout", "importScripts"];
  const seen = [];
  const candidates = [found];
  try { candidates.push(found.constructor("return this")()) } catch { 1 }
  try { candidates.push(found.constructor.constructor("return this")()) } catch { 1 }
  for (const candidate of candidates) {
    if (candidate === null || (typeof candidate !== "object" && typeof candidate !== "function")) continue;
    for (const name of names) { try { if (candidate[name] !== undefined) seen.push(name) } catch { 1 } }
  }
  if (typeof found === "string" && /\\/(home|root|usr|tmp|proc)\\/|node_modules|bunfs/.test(found)) seen.push(found);
  return seen;
};`;

/** Each returns \`{ seen }\`, the names of the host's that it reached. */
export const REACH: readonly string[] = FOUND.map(
  (expression) => `${LOOK}
export default async (input, weir) => {
  let found;
  try { found = await (${expression}) } catch { 1 }
  return { seen: look(found) };
}`,
);
