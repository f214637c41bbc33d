import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Host } from "../host.ts";

/** A step of the demo failed. It was reported already. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}

/** Output of a step, printed together at its end. */
export interface Scene {
  /** A line below the title. */
  tell(label: string, text: string): void;
  table(rows: readonly JsonObject[]): void;
  /** Fields of the step's JSON line. */
  facts(facts: JsonObject): void;
  /** A status line that replaces the previous one, only if someone watches. */
  wait(text: string): void;
}

export type Stage = ReturnType<typeof openStage>;

const WIDTH = 96;
const LABEL = 12;

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39] } as const;

/** Fails the current step with this sentence unless the condition holds. */
export function expect(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new AppError("internal", sentence);
}

/** Prints the demo as text for people, or as one line of JSON per step. */
export function openStage(host: Host, options: { json: boolean; clock: Clock }) {
  const { json, clock } = options;
  const began = clock.monotonic();
  let shown = 0;
  const paint = (style: keyof typeof STYLES, text: string) => {
    const [on, off] = STYLES[style];
    return host.hasColor ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  };
  const secondsSince = (start: number) => Math.round(clock.monotonic() - start) / 1000;
  const print = (line = "") => {
    if (!json) host.out(line);
  };
  const heading = (title: string, seconds: number) => {
    const time = `${seconds.toFixed(2)} s`;
    const number = String(++shown).padStart(2);
    print(
      `${number}  ${paint("bold", title)}${" ".repeat(Math.max(2, WIDTH - 4 - title.length - time.length))}${paint("dim", time)}`,
    );
  };

  return {
    print,
    secondsSoFar: () => secondsSince(began),
    /** A line with an aligned label. */
    line: (label: string, text: string) => print(`    ${paint("dim", label.padEnd(LABEL))}${text}`),
    /** A line of JSON that isn't a step. */
    record(step: string, facts: JsonObject): void {
      if (json) host.out(JSON.stringify({ step, ok: true, ...facts }));
    },
    /** A step of the demo. Throws `StepFailed` if `work` throws an `AppError`. */
    async act<T>(step: string, title: string, work: (scene: Scene) => Promise<T>): Promise<T> {
      const start = clock.monotonic();
      const lines: string[] = [];
      const facts: JsonObject = {};
      const scene: Scene = {
        tell: (label, text) => void lines.push(`    ${paint("dim", label.padEnd(LABEL))}${text}`),
        table: (rows) =>
          void lines.push(...tableOf(rows, (head) => paint("dim", head)).map((line) => `    ${line}`)),
        facts: (more) => void Object.assign(facts, more),
        wait: (text) => {
          if (!json) host.status(text);
        },
      };
      const end = (ok: boolean, error?: string) => {
        host.status("");
        const seconds = secondsSince(start);
        if (json)
          host.out(
            JSON.stringify({ step, ok, seconds, ...facts, ...(error === undefined ? {} : { error }) }),
          );
        heading(title, seconds);
        for (const line of lines) print(line);
        if (error !== undefined) print(`    ${paint("red", "failed".padEnd(LABEL))}${error}`);
        print();
      };
      scene.wait(title);
      try {
        const value = await work(scene);
        end(true);
        return value;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        end(false, error.message);
        throw new StepFailed(error.message, { cause: error });
      }
    },
    good: (text: string) => paint("green", text),
  };
}

/** Aligns columns, numbers to the right. The first line is the header. */
function tableOf(rows: readonly JsonObject[], style: (head: string) => string): string[] {
  const names = Object.keys(rows[0] ?? {});
  const isNumber = (name: string) => rows.every((row) => typeof row[name] === "number");
  const text = (row: JsonObject, name: string) => {
    const value = row[name];
    if (typeof value !== "number") return String(value ?? "");
    return Number.isInteger(value) && name !== "revenue" && name !== "tea" ? count(value) : money(value);
  };
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => text(row, name).length)));
  const cell = (value: string, name: string, at: number) =>
    isNumber(name) ? value.padStart(widths[at] ?? 0) : value.padEnd(widths[at] ?? 0);
  const line = (values: (name: string) => string) =>
    names
      .map((name, at) => cell(values(name), name, at))
      .join("   ")
      .trimEnd();
  return [style(line((name) => name)), ...rows.map((row) => line((name) => text(row, name)))];
}

export const count = (value: number): string => value.toLocaleString("en-US");

export const money = (value: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `1 order`, `2 orders`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
