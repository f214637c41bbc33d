/**
 * Runs in QuickJS before a script: hides the host's functions from the script, freezes the clock, and saves the
 * built-ins it needs before the script can change them.
 */
export const PRELUDE = `(() => {
  "use strict";
  const { __now: now, __seed: seed, __say: say, __ask: ask, Array, BigInt, Date, Error, JSON, Math, Number, Object, Promise, Reflect, String } = globalThis;
  for (const name of ["__now", "__seed", "__say", "__ask", "performance"]) delete globalThis[name];
  const { apply, construct } = Reflect;
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { isSafeInteger } = Number;
  const { slice, charCodeAt, replaceAll, toWellFormed } = String.prototype;
  const { join, map } = Array.prototype;
  const { then } = Promise.prototype;

  // JSON has no such numbers: those that a double holds are numbers, greater ones text, as everywhere.
  Object.defineProperty(BigInt.prototype, "toJSON", {
    value: function toJSON() {
      const number = Number(this);
      return isSafeInteger(number) ? number : String(this);
    },
    writable: true,
    configurable: true,
  });

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
  Object.defineProperty(Clock, "prototype", { writable: false });
  Object.defineProperty(Clock, "length", { value: 7 });
  for (const [name, value] of [["now", () => now], ["parse", RealDate.parse], ["UTC", RealDate.UTC]])
    Object.defineProperty(Clock, name, { value, writable: true, configurable: true });
  Object.defineProperty(globalThis, "Date", { value: Clock, writable: true, configurable: true });

  const short = (value, length) => apply(slice, String(value ?? ""), [0, length]);
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value);
    return stringify(value) ?? String(value);
  };
  const scriptConsole = {};
  // Each call of the host costs memory that the script does not get back.
  let isHeard = true;
  for (const level of ["debug", "info", "warn", "error"])
    scriptConsole[level] = (...values) => {
      if (!isHeard) return;
      const line = short(apply(join, apply(map, values, [(value) => shown(value)]), [" "]), 4096);
      // A NUL would end the text on its way out.
      if (isHeard) isHeard = say(level, apply(replaceAll, apply(toWellFormed, line, []), ["\\0", "\\u2400"]));
    };
  scriptConsole.log = scriptConsole.info;
  Object.defineProperty(globalThis, "console", { value: Object.freeze(scriptConsole), writable: true, configurable: true });

  const call = (name, args) => {
    const { stack } = new Error();
    const failed = (text) => {
      const { message, code } = parse(text);
      const error = new Error(message);
      Object.defineProperty(error, "code", { value: code, enumerable: true });
      Object.defineProperty(error, "stack", { value: stack });
      throw error;
    };
    return apply(then, ask(name, stringify(args)), [(text) => parse(text), failed]);
  };
  const weir = Object.freeze({
    now: new Clock().toISOString(),
    sql: (text, parameters) => call("sql", [text, parameters]),
    http: (connection, request) => call("http", [connection, request]),
  });

  return {
    /** A promise of the output's JSON. */
    run: async (main, input) => {
      const output = await main(parse(input), weir);
      const json = stringify(output) ?? "null";
      return { json, items: isArray(output) ? output.length : -1 };
    },
    /** A part of a text that begins at a place, and breaks no character apart. */
    part: (text, from, length) => {
      const last = apply(charCodeAt, text, [from + length - 1]);
      return apply(slice, text, [from, from + (last >= 0xd800 && last < 0xdc00 ? length - 1 : length)]);
    },
    describe: (error) => {
      if (typeof error !== "object" || error === null) return stringify({ message: short(error, 1000) });
      return stringify({ name: short(error.name, 100), message: short(error.message, 1000), stack: short(error.stack, 4000) });
    },
  };
})()`;
