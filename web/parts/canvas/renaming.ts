import { AppError } from "../../../src/base/errors.ts";
import { ExpressionError } from "../../../src/base/expression/fault.ts";
import { parse, parseWhole } from "../../../src/base/expression/parse.ts";
import { type Read, readsOf } from "../../../src/base/expression/reads.ts";
import { readPieces, type Template } from "../../../src/base/template-grammar.ts";
import type { Values } from "../form/form.tsx";
import { dependencyOf } from "./config.ts";
import { isRecord, type StepValue, stepsIn } from "./steps-config.ts";

/** Fields of a step that are conditions. Those of a definition are below its kind. */
const CONDITIONS = ["when", "conditional_branch.branches.*.when"];
/** Fields of a step without templates. */
const PLAIN = ["name", "pinned", "run_script.source"];

/** Returns a function that changes the key of a step in a value, in the templates and conditions that read it. */
function renaming(from: string, to: string) {
  const key = from.replaceAll(/[^\w-]/g, "\\$&");
  const reference = new RegExp(`steps\\s*(?:\\.\\s*(\`?)${key}\\1|\\[\\s*(["'])${key}\\2\\s*\\])`, "y");
  // In an expression, a hyphen outside brackets is a subtraction.
  const next = /^\w+$/.test(to) ? `steps.${to}` : `steps["${to}"]`;

  const inReads = (text: string, reads: readonly Read[]) =>
    reads
      .filter(({ path: [root, step] }) => root === "steps" && step === from)
      .sort((a, b) => b.at - a.at) // the last first, so that positions before it stay
      .reduce((before, { at }) => {
        reference.lastIndex = at;
        const found = reference.exec(before)?.[0];
        return found === undefined ? before : before.slice(0, at) + next + before.slice(at + found.length);
      }, text);
  const inTemplate = ({ source, path, expression }: Template) =>
    inReads(
      source,
      expression === undefined
        ? [{ path: [...path], at: source.search(/[^{\s]/) }]
        : readsOf(parse(source, 2).node),
    );
  const inText = (text: string, at: string): string => {
    if (CONDITIONS.includes(at)) return inReads(text, readsOf(parseWhole(text).node));
    // a list can be written without braces
    if (at === "forEach" && !text.includes("{{")) return inText(`{{${text}}}`, "").slice(2, -2);
    return readPieces(text)
      .map((piece) => (typeof piece === "string" ? piece : inTemplate(piece)))
      .join("");
  };

  return function inValue(value: unknown, at: string): unknown {
    if (PLAIN.includes(at)) return value;
    if (typeof value === "string") return ifValid(value, () => inText(value, at));
    if (Array.isArray(value)) return value.map((item) => inValue(item, `${at}.*`));
    return isRecord(value) ? mapped(value, (each, name) => inValue(each, `${at}.${name}`)) : value;
  };
}

/** Returns the changed text, or the text unchanged if it can't be parsed. */
function ifValid(text: string, change: () => string): string {
  try {
    return change();
  } catch (error) {
    if (error instanceof AppError || error instanceof ExpressionError) return text;
    throw error;
  }
}

const mapped = (values: Values, change: (value: unknown, name: string) => unknown): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));

/** The steps after one was renamed: dependent steps, templates and conditions refer to the new key. */
export function renamed(steps: readonly StepValue[], from: string, to: string): StepValue[] {
  const inValue = renaming(from, to);
  return steps.map(({ key, dependsOn, ...rest }) => ({
    ...mapped(rest, (value, name) => inValue(value, name === "definition" ? `${rest.kind}` : name)),
    key: key === from ? to : key,
    ...(dependsOn
      ? {
          dependsOn: dependsOn.map((each) =>
            dependencyOf(each).key === from ? to + each.slice(from.length) : each,
          ),
        }
      : {}),
  }));
}

/** The config after a step was renamed. Besides the steps, only the response can refer to them. */
export function renameStep(config: Values, from: string, to: string): Values {
  const { steps: _, action: __, response, ...rest } = config;
  return {
    ...rest,
    ...(response === undefined ? {} : { response: renaming(from, to)(response, "response") }),
    steps: renamed(stepsIn(config), from, to),
  };
}
