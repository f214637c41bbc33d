import { isObject, type Json } from "../../base/json.ts";
import type { Source } from "./sources.ts";
import { VARIABLE, withVariables } from "./text.ts";

/** Value of `${NAME}`. */
interface Value {
  value: string | number | boolean;
  /** True if it came from the environment. Such values are never shown. */
  isHidden: boolean;
}

/** Values of placeholders in files. */
export interface Values {
  of(name: string): Value | null;
  /** Returns why a name has no value, as a sentence. */
  lack(name: string): string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Values from files given with `-f`, the last one first, then from the environment.
 * Files of values that were found in a directory are ignored, since they may be for another environment.
 */
export function openValues(sources: readonly Source[], env: Environment, faults: string[]): Values {
  const entries = new Map<string, Value>();
  const unread = new Map<string, string>();
  const fromEnvironment = (name: string) => env[name] || undefined;
  for (const { root, file, isNamed, at } of sources) {
    if (!("values" in root)) continue;
    const others = Object.keys(root).filter((section) => section !== "weir" && section !== "values");
    if (others.length > 0) {
      faults.push(`${at(["values"])}: values must be in a file of its own, without ${others.join(", ")}.`);
      continue;
    }
    const values = root.values ?? {};
    if (!isObject(values)) {
      faults.push(`${at(["values"])}: values must be an object, such as DB_HOST: db.example.com.`);
      continue;
    }
    for (const [name, value] of Object.entries(values)) {
      if (!isNamed) unread.set(name, file);
      else read(name, value, at(["values", name]));
    }
  }

  function read(name: string, value: Json, place: string): void {
    if (!VARIABLE.test(name))
      return void faults.push(
        `${place}: Invalid name ${name}. Use letters, digits and underscores, such as DB_HOST.`,
      );
    if (typeof value === "number" || typeof value === "boolean")
      return void entries.set(name, { value, isHidden: false });
    if (typeof value !== "string")
      return void faults.push(`${place}: ${name} must be a string, a number, true or false.`);
    let isHidden = false;
    const fromOutside = (inner: string) => {
      const found = fromEnvironment(inner);
      if (found === undefined) faults.push(`${place}: ${inner} isn't set. It is required for ${name}.`);
      isHidden = true;
      return found ?? "";
    };
    entries.set(name, { value: withVariables(value, fromOutside), isHidden });
  }

  return {
    of(name) {
      const value = fromEnvironment(name);
      return entries.get(name) ?? (value === undefined ? null : { value, isHidden: true });
    },
    lack(name) {
      const file = unread.get(name);
      return file === undefined ? `${name} isn't set.` : `${name} isn't set. To use ${file}, add -f ${file}.`;
    },
  };
}
