/**
 * Runs in QuickJS before a script: hides the host's functions from the script, freezes the clock, and saves the
 * built-ins it needs before the script can change them.
 */
export const PRELUDE = `(() => {
  "use strict";
  const { __now: now, __seed: seed, __say: say, __ask: ask, Array, ArrayBuffer, BigInt, Date, Error, JSON, Map, Math, Number, Object, Promise, RangeError, Reflect, Set, String, TypeError } = globalThis;
  for (const name of ["__now", "__seed", "__say", "__ask", "performance"]) delete globalThis[name];
  const { apply, construct } = Reflect;
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { isFinite, isSafeInteger } = Number;
  const { getPrototypeOf, keys, defineProperty } = Object;
  const { slice, charCodeAt, replaceAll, toWellFormed } = String.prototype;
  const { join, map } = Array.prototype;
  const { has } = Set.prototype;
  const { then } = Promise.prototype;

  const giveJson = (prototype, toJSON) =>
    defineProperty(prototype, "toJSON", { value: toJSON, writable: true, configurable: true });

  // JSON has no such numbers: those that a double holds are numbers, greater ones text, as everywhere.
  giveJson(BigInt.prototype, function toJSON() {
    const number = Number(this);
    return isSafeInteger(number) ? number : String(this);
  });

  // JSON.stringify makes {} of these, and null of an invalid Date. What leaves the script must not be lost like that.
  let isLeaving = false;
  const refusals = new Set();
  const toJson = (value, replacer = (key, value) => value) => {
    isLeaving = true;
    try {
      return stringify(value, (key, value) => {
        // JSON.stringify doesn't call the toJSON of what another toJSON returned.
        if (typeof value === "object" && value !== null && apply(has, refusals, [value.toJSON])) value.toJSON();
        return replacer(key, value);
      });
    } finally {
      isLeaving = false;
    }
  };
  const iterator = getPrototypeOf(getPrototypeOf([].values()));
  const asyncIterator = getPrototypeOf(getPrototypeOf((async function* () {}).prototype));
  for (const [prototype, problem] of [
    [Map.prototype, "A Map isn't JSON. Convert it with Object.fromEntries(map) or [...map]."],
    [Set.prototype, "A Set isn't JSON. Convert it with [...set]."],
    [iterator, "An iterator isn't JSON. Convert it with [...iterator]."],
    [asyncIterator, "An async iterator isn't JSON. Collect its values with for await."],
    [Promise.prototype, "A promise isn't JSON. Await it, or a list of them with await Promise.all(list)."],
    [ArrayBuffer.prototype, "An ArrayBuffer isn't JSON. Convert it with [...new Uint8Array(buffer)]."],
  ]) {
    const refuse = function toJSON() {
      if (isLeaving) throw new TypeError(problem);
      return this;
    };
    refusals.add(refuse);
    giveJson(prototype, refuse);
  }
  const dateToJson = Date.prototype.toJSON;
  giveJson(Date.prototype, function toJSON(key) {
    const json = apply(dateToJson, this, [key]);
    if (isLeaving && json === null) throw new RangeError("An invalid Date isn't JSON. Check the text that it was created from.");
    return json;
  });
  const isBindable = (key, value) => {
    if (typeof value !== "number" || isFinite(value)) return value;
    throw new RangeError("A parameter can't be " + value + ". Write '" + value + "'::DOUBLE in the SQL, or use null.");
  };

  let state = seed >>> 0 || 1;
  Math.random = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };

  const Clock = function Date(...given) {
    if (!new.target) return apply(Date.prototype.toString, new Clock(), []);
    return construct(RealDate, given.length ? given : [now], new.target);
  };
  const RealDate = Date;
  Clock.prototype = RealDate.prototype;
  Clock.prototype.constructor = Clock;
  defineProperty(Clock, "prototype", { writable: false });
  defineProperty(Clock, "length", { value: 7 });
  for (const [name, value] of [["now", () => now], ["parse", RealDate.parse], ["UTC", RealDate.UTC]])
    defineProperty(Clock, name, { value, writable: true, configurable: true });
  defineProperty(globalThis, "Date", { value: Clock, writable: true, configurable: true });

  const short = (value, length) => apply(slice, String(value ?? ""), [0, length]);
  const MAX_SHOWN = 4096;
  const MAX_LEVELS = 16;
  const listed = (open, values, show, close) => {
    let text = open;
    for (const value of values) {
      if (text.length > MAX_SHOWN) return text + ",…" + close;
      text += (text === open ? "" : ",") + show(value);
    }
    return text + close;
  };
  /** JSON, and a readable text of what JSON can't hold. */
  const readable = (value, above) => {
    if (typeof value === "string") return stringify(value);
    if (typeof value === "bigint") return value + "n";
    if (typeof value !== "object" || value === null || value instanceof Error) return String(value);
    for (const each of above) if (each === value) return "[Circular]";
    if (above.length >= MAX_LEVELS) return "…";
    const show = (inner) => readable(inner, [...above, value]);
    if (isArray(value)) return listed("[", value, show, "]");
    if (value instanceof Map)
      return listed("Map(" + value.size + ") {", value, ([key, item]) => show(key) + "=>" + show(item), "}");
    if (value instanceof Set) return listed("Set(" + value.size + ") {", value, show, "}");
    if (value instanceof RealDate) return stringify(value.toJSON() ?? String(value));
    const own = typeof value.toJSON === "function" ? value.toJSON() : value;
    if (own !== value) return show(own);
    const names = keys(value);
    if (names.length === 0 && apply(Object.prototype.toString, value, []) !== "[object Object]") return String(value);
    return listed("{", names, (name) => stringify(name) + ":" + show(value[name]), "}");
  };
  const shown = (value) => {
    if (typeof value === "string") return value;
    try {
      return readable(value, []);
    } catch {
      return "[unreadable]";
    }
  };
  const scriptConsole = {};
  // Each call of the host costs memory that the script does not get back.
  let isHeard = true;
  for (const level of ["debug", "info", "warn", "error"])
    scriptConsole[level] = (...values) => {
      if (!isHeard) return;
      const line = short(apply(join, apply(map, values, [(value) => shown(value)]), [" "]), MAX_SHOWN);
      // A NUL would end the text on its way out.
      if (isHeard) isHeard = say(level, apply(replaceAll, apply(toWellFormed, line, []), ["\\0", "\\u2400"]));
    };
  scriptConsole.log = scriptConsole.info;
  defineProperty(globalThis, "console", { value: Object.freeze(scriptConsole), writable: true, configurable: true });

  const call = async (name, args, replacer) => {
    const { stack } = new Error();
    const failed = (text) => {
      const { message, code } = parse(text);
      const error = new Error(message);
      defineProperty(error, "code", { value: code, enumerable: true });
      defineProperty(error, "stack", { value: stack });
      throw error;
    };
    return apply(then, ask(name, toJson(args, replacer)), [(text) => parse(text), failed]);
  };
  const weir = Object.freeze({
    now: new Clock().toISOString(),
    sql: (text, parameters) => call("sql", [text, parameters], isBindable),
    http: (connection, request) => call("http", [connection, request]),
  });

  return {
    /** A promise of the output's JSON. */
    run: async (main, input) => {
      const output = await main(parse(input), weir);
      const json = toJson(output) ?? "null";
      return { json, items: isArray(output) ? output.length : -1 };
    },
    /** A part of a text that begins at a place, and breaks no character apart. */
    part: (text, from, length) => {
      const last = apply(charCodeAt, text, [from + length - 1]);
      return apply(slice, text, [from, from + (last >= 0xd800 && last < 0xdc00 ? length - 1 : length)]);
    },
    describe: (error) => {
      if (typeof error !== "object" || error === null) return stringify({ message: short(error, 1000) });
      const { name, message } = error;
      if (!name && !message) return stringify({ message: short("The script threw " + shown(error), 1000) });
      return stringify({ name: short(name, 100), message: short(message, 1000), stack: short(error.stack, 4000) });
    },
  };
})()`;
