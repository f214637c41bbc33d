import { parseCidr } from "../../base/cidr.ts";
import { conditionFault } from "../../base/condition.ts";
import { type Fault, MAX_FAULTS } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { schemaFaults } from "../../base/json-schema.ts";
import { read } from "../../base/shape.ts";
import { expressionFaults, isWholeTemplate, templateFaults } from "../../base/template.ts";
import type { App } from "../../context.ts";
import type { ActionKind } from "../../executors/contract.ts";
import { instantIn } from "../../flows/delay.ts";
import { scheduleFaults } from "../../flows/schedule.ts";
import { definitionFaults, typedFaults } from "../../queue/definition.ts";
import { faultsOfTypes } from "../events/matching.ts";
import { alertFaults } from "./alerts.ts";
import { type AutomationConfig, forEachTemplate, type Step, stepsOf, type TableRows } from "./config.ts";
import { CONFIGS } from "./config-shapes.ts";
import { conflictFaults } from "./conflicts.ts";
import { graphFaults } from "./graph.ts";
import { responseFaults } from "./response-faults.ts";
import { stepReadFaults } from "./step-reads.ts";
import { TRIGGER_TYPES, type TriggerType } from "./table.ts";
import { definitionsIn } from "./wire-definitions.ts";

/**
 * Returns everything that is wrong with a config: its shape, the definitions of its steps, and their graph. Values of
 * the wrong shape aren't checked further.
 */
export function configFaults(
  app: App,
  trigger: TriggerType,
  config: JsonObject,
  loc: readonly string[],
  before: JsonObject = {},
): Fault[] {
  const { value, faults } = read(CONFIGS[trigger], config, loc);
  const fail = (path: readonly string[], msg: string, type = "value_error") =>
    faults.push({ loc: [...loc, ...path], msg, type });
  const shapeless = faults.map((fault) => fault.loc.slice(loc.length).join("/"));
  const isSound = (...path: string[]) => {
    const at = `${path.join("/")}/`;
    return !shapeless.some((fault) => `${fault}/`.startsWith(at) || at.startsWith(`${fault}/`));
  };
  const {
    action,
    steps,
    allowedIps = [],
    schedule,
    event,
    form,
    inputSchema,
    response,
  } = value as AutomationConfig;

  faults.push(...alertFaults(trigger, config.alerts, [...loc, "alerts"]));
  if (action && steps) fail(["steps"], "Give either action or steps, not both");
  if (!action && !steps) fail(["action"], "Give the work as action or as steps", "missing");
  if (isSound("allowedIps")) {
    allowedIps.forEach((range, index) => {
      if (parseCidr(range) === null)
        fail(["allowedIps", String(index)], "Input should be a CIDR range or an address");
    });
  }
  if (
    ["signaturePreset", "signatureHeader", "expect", "auth", "secret", "alerts"].every((field) =>
      isSound(field),
    )
  )
    faults.push(...conflictFaults(trigger, value as AutomationConfig, loc));
  if (form && isSound("form", "schema"))
    for (const { path, message, type } of schemaFaults(form.schema))
      fail(["form", "schema", ...path], message, type);
  if (inputSchema && isSound("inputSchema"))
    for (const { path, message, type } of schemaFaults(inputSchema))
      fail(["inputSchema", ...path], message, type);
  if (response && isSound("response"))
    faults.push(
      ...responseFaults(app, response, isSound("steps") ? stepsOf(value as AutomationConfig) : null, [
        ...loc,
        "response",
      ]),
    );
  if (schedule) {
    const sound = Object.entries(schedule).filter(([field]) => isSound("schedule", field));
    for (const { field, msg } of scheduleFaults(Object.fromEntries(sound), app.clock.now()))
      fail(["schedule", field], msg);
  }
  if (event && isSound("event", "types"))
    faults.push(
      ...event.types.flatMap((pattern, index) =>
        faultsOfTypes(pattern, [...loc, "event", "types", String(index)]),
      ),
    );
  if (action && WORK.every((field) => isSound("action", field)))
    faults.push(...workFaults(app, action, [...loc, "action"]));
  const listed = steps && !shapeless.includes("steps") ? steps : [];
  for (const [index, step] of listed.entries()) {
    const at = ["steps", String(index)];
    if (faults.length < MAX_FAULTS && !shapeless.includes(at.join("/")))
      faults.push(
        ...stepFaults(app, step, [...loc, ...at], (...fields) =>
          fields.every((field) => isSound(...at, field)),
        ),
      );
  }
  if (steps && isSound("steps"))
    faults.push(...graphFaults(steps, [...loc, "steps"]), ...stepReadFaults(app, steps, [...loc, "steps"]));
  for (const { definition, path, earlier } of definitionsIn(config, before))
    faults.push(...typedFaults(definition, [...loc, ...path], earlier));
  return faults;
}

/** Faults that a draft may have, since it is unfinished. */
const UNFINISHED = [
  "missing",
  "value_error",
  "template_error",
  "ambiguous_path",
  "condition_error",
  "unknown_step",
  "string_too_short",
  "too_short",
];

/** Returns what is wrong with a draft's config: values of the wrong type, and plain-text secrets. */
export const draftFaults = (...args: Parameters<typeof configFaults>): Fault[] =>
  configFaults(...args).filter(({ type }) => !UNFINISHED.includes(type));

/** Returns faults of the config in the raw body of a create request, as far as it can be read. */
export function creationFaults(app: App, raw: Json): Fault[] {
  if (!isObject(raw) || !isObject(raw.config)) return [];
  const trigger = TRIGGER_TYPES.find((type) => type === (raw.triggerType ?? "manual"));
  const faultsOf = raw.status === "draft" ? draftFaults : configFaults;
  return trigger ? faultsOf(app, trigger, withoutNulls(raw.config), ["body", "config"]) : [];
}

/** Removes null fields from a new config: null means omitted, as in an update. */
export const withoutNulls = (config: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null));

/** Checks the fields that have the right shape. */
function stepFaults(
  app: App,
  step: Step,
  loc: readonly string[],
  areSound: (...fields: string[]) => boolean,
): Fault[] {
  const fault = step.when === undefined || !areSound("when") ? null : conditionFault(step.when);
  const found = fault ? [{ loc: [...loc, "when"], msg: fault, type: "condition_error" }] : [];
  const isWork = areSound(...WORK);
  return [
    ...(isWork ? workFaults(app, step, loc) : []),
    ...found,
    ...(isWork && areSound("forEach", "maxParallel") ? forEachFaults(app, step, loc) : []),
    ...(areSound("delay") ? delayFaults(step, loc) : []),
  ];
}

function forEachFaults(app: App, step: Step, loc: readonly string[]): Fault[] {
  const { forEach, maxParallel } = step;
  if (forEach === undefined) {
    const msg = "This is for a step with forEach";
    return maxParallel === undefined ? [] : [{ loc: [...loc, "maxParallel"], msg, type: "value_error" }];
  }
  if (typeof forEach === "object")
    return [...rowFaults(app, step, loc), ...tableFaults(forEach, [...loc, "forEach"])];
  const template = forEachTemplate(forEach);
  const isBare = template !== forEach;
  const [fault] = isBare ? expressionFaults(forEach) : templateFaults(template);
  if (!fault && isWholeTemplate(template)) return [];
  const msg = fault?.message ?? "Give one template that returns a list, such as {{payload.orders}}";
  return [{ loc: [...loc, "forEach"], msg, type: "template_error" }];
}

/** Rows of a table don't get their own runs. */
function rowFaults({ executors }: App, { kind, definition = {} }: Step, loc: readonly string[]): Fault[] {
  const executor = Object.entries(executors).find(([known]) => known === kind)?.[1];
  if (!executor || !isObject(definition)) return []; // An action's definition is checked when it runs.
  const isFit = executor.inBulk?.(definition, "table") === true && definition.concurrencyKey === undefined;
  const msg = `A step of ${kind} as defined here needs a run per row. Read the rows with a duckdb_transform, and pass them to forEach as a list`;
  return isFit ? [] : [{ loc: [...loc, "forEach", "table"], msg, type: "value_error" }];
}

function tableFaults(rows: TableRows, loc: readonly string[]): Fault[] {
  const faults = templateFaults(rows as unknown as JsonObject, { sql: [["where"], ["orderBy"]] });
  if (isWholeTemplate(rows.orderBy)) {
    const message = "A template is a single value and can't order rows; write out the columns";
    faults.push({ path: ["orderBy"], message });
  }
  return faults.map(({ path, message }) => ({
    loc: [...loc, ...path],
    msg: message,
    type: "template_error",
  }));
}

function delayFaults({ delay }: Step, loc: readonly string[]): Fault[] {
  if (delay === undefined) return [];
  const at = [...loc, "delay"];
  const { seconds, until } = delay;
  if ((seconds === undefined) === (until === undefined))
    return [{ loc: at, msg: "Give either seconds or until", type: "value_error" }];
  const faults = templateFaults(delay as JsonObject).map(({ path, message }) => ({
    loc: [...at, ...path],
    msg: message,
    type: "template_error",
  }));
  if (faults.length > 0) return faults;
  if (typeof seconds === "string" && !isWholeTemplate(seconds))
    return [
      {
        loc: [...at, "seconds"],
        msg: "Give a number, or one template that returns one",
        type: "value_error",
      },
    ];
  if (until !== undefined && !until.includes("{{") && instantIn(until) === null)
    return [
      {
        loc: [...at, "until"],
        msg: "Give a time with its zone, such as 2026-01-31T12:00:00Z",
        type: "value_error",
      },
    ];
  return [];
}

/** The fields of a step that say what it does. */
const WORK = ["actionId", "kind", "definition"] as const;

function workFaults(
  app: App,
  work: { actionId?: string; kind?: ActionKind; definition?: JsonObject },
  loc: readonly string[],
): Fault[] {
  if (work.actionId !== undefined) {
    return work.kind === undefined && work.definition === undefined
      ? []
      : [
          {
            loc: [...loc, "actionId"],
            msg: "Give either actionId, or kind and definition",
            type: "value_error",
          },
        ];
  }
  if (work.kind === undefined)
    return [{ loc: [...loc, "kind"], msg: "Give kind and definition, or actionId", type: "missing" }];
  return definitionFaults(app, work.kind, work.definition ?? {}, [...loc, "definition"]);
}
