import { comparable, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { MASK } from "../../base/mask.ts";
import { capitalized } from "../../base/plural.ts";
import { maskedSlackUrl } from "../../base/slack-text.ts";
import { HTTP_PROVIDER } from "../../providers/http-template/http-template.ts";
import { differencesOf, shortText } from "../differences.ts";
import { KINDS, kindOf, UNSEEN } from "./kinds.ts";
import { type Files, isUnseen, type Wanted } from "./read.ts";
import type { State, There } from "./state.ts";
import {
  isSecretText,
  mapTexts,
  NOUNS,
  type Noun,
  type Path,
  placeholderIn,
  shownKey,
  slugOfKey,
  valueAt,
  withVariables,
} from "./text.ts";

/** A difference at one path. Secrets are masked. */
interface Difference {
  field: string;
  from: Json;
  to: Json;
}

/** `send`: no visible difference, but credentials or a secret are sent again. */
export type PlanStep =
  | { operation: "create"; wanted: Wanted; there: null; changes: Difference[] }
  | { operation: "change" | "send"; wanted: Wanted; there: There; changes: Difference[] }
  | { operation: "delete"; wanted: null; there: There; changes: Difference[] };

export interface Plan {
  steps: PlanStep[];
  unchanged: number;
  faults: string[];
  notes: string[];
}

/** Plans how to change a state to what files describe. With faults, nothing of it must be executed. */
export function makePlan(files: Files, state: State, isPruned: boolean): Plan {
  const plan: Plan = { steps: [], unchanged: 0, faults: [...files.faults], notes: [...files.notes] };
  const keys = new Set(files.wanted.map((one) => `${one.noun}:${thereFor(one, state)?.key ?? one.key}`));
  for (const { noun, key } of files.wanted) if (noun === "template") keys.add(`${noun}:${slugOfKey(key)}`);
  const kept = (noun: Noun, key: string) => keys.has(`${noun}:${noun === "template" ? slugOfKey(key) : key}`);
  const isGone = ({ noun, key }: There) =>
    files.nouns.has(noun) && !kept(noun, key) && (noun !== "template" || key === slugOfKey(key)); // with all versions
  const gone = isPruned ? state.things.filter(isGone) : [];
  const isThere = (noun: Noun, key: string) =>
    kept(noun, key) ||
    (state.find(noun, key) !== null && !gone.some((one) => one.noun === noun && one.key === key));
  for (const wanted of inOrder(files.wanted)) {
    for (const { noun, key } of referencesOf(wanted))
      if (!isThere(noun, key)) plan.faults.push(`${wanted.at}: ${capitalized(noun)} ${key} not found.`);
    if (state.unread.has(wanted.noun)) {
      plan.faults.push(`${wanted.at}: Requires the admin role: ${kindOf(wanted.noun).section}.`);
      continue;
    }
    const there = thereFor(wanted, state);
    if (there === null) planCreation(wanted, state, plan);
    else planChange(wanted, there, plan, state);
  }
  for (const { noun } of KINDS.toReversed())
    for (const there of gone.filter((one) => one.noun === noun))
      plan.steps.push({ operation: "delete", wanted: null, there, changes: [] });
  return plan;
}

/**
 * The server's version of a resource.
 * A webhook whose URL contains a secret that isn't set is identified by the rest of the URL.
 */
function thereFor({ noun, key, unset, body }: Wanted, state: State): There | null {
  if (noun === "template" && body.version !== null) {
    const isIt = (one: There) => slugOfKey(one.key) === slugOfKey(key) && one.version === body.version;
    return state.things.find((one) => one.noun === noun && isIt(one)) ?? null;
  }
  if (noun !== "webhook" || !unset.some(({ path }) => path[0] === "url")) return state.find(noun, key);
  const shown = withVariables(key, () => MASK);
  return state.things.find((one) => one.noun === noun && shownKey(noun, one.key) === shown) ?? null;
}

function planCreation(resource: Wanted, state: State, plan: Plan): void {
  let wanted = resource;
  for (const { path, at, lack } of resource.unset) {
    const [field, name] = path;
    const what = `${path.join(".")} of the new ${wanted.noun} ${wanted.shown}`;
    const { credentials, provider } = wanted.body;
    if (
      field === "credentials" &&
      isObject(credentials) &&
      state.isOptional(String(provider), String(name))
    ) {
      const { [String(name)]: _, ...rest } = credentials;
      wanted = { ...wanted, body: { ...wanted.body, credentials: rest } };
      plan.notes.push(`${at}: ${lack} ${what} is omitted.`);
    } else plan.faults.push(`${at}: ${lack} It is required for ${what}.`);
  }
  if (wanted.noun === "connection" && wanted.body.provider === HTTP_PROVIDER && wanted.body.template === null)
    plan.faults.push(
      `${wanted.at}: Connection ${wanted.key} uses the provider ${HTTP_PROVIDER} and needs a template. If a bundle created it, install that bundle first.`,
    );
  plan.steps.push({ operation: "create", wanted, there: null, changes: [] });
}

/** A version that a file names by number can be edited only as a draft. */
function editFaults(wanted: Wanted, there: There, changes: readonly Difference[], state: State): string[] {
  const { status } = there.body;
  if (status === "draft" || changes.every(({ field }) => field === "status")) return [];
  const slug = slugOfKey(wanted.key);
  const versions = state.things.filter(({ noun, key }) => noun === "template" && slugOfKey(key) === slug);
  const next = Math.max(...versions.map(({ version }) => version ?? 0)) + 1;
  return [
    `${wanted.at}: Version ${there.version} of template ${slug} is ${status} and can't be edited. Add a version ${next}, or omit version.`,
  ];
}

function planChange(wanted: Wanted, there: There, plan: Plan, state: State): void {
  const kind = kindOf(wanted.noun);
  const name = `${wanted.noun} ${wanted.shown}`;
  const filled = withImported(withKept(wanted, there, plan), there);
  const changes: Difference[] = [];
  const sent = unseenIn(filled.body);
  for (const [field, { isFixed }] of Object.entries(kind.fields)) {
    if (UNSEEN.has(field)) continue;
    const [from, to] = [there.body[field] ?? null, filled.body[field] ?? null];
    if (comparable(from, field) === comparable(to, field)) continue;
    if (["template", "templateVersion", "version"].includes(field) && to === null) continue;
    if (field === "default" && to === false) continue; // another one becomes the default, or none
    const all = differencesOf(from, to, [field]);
    const found = masked(
      all.filter((one) => !isUnseenSlackUrl(one)),
      filled.hiddenPaths,
    );
    sent.push(...all.filter(isUnseenSlackUrl).map(({ path }) => path.join(".")));
    changes.push(...found);
    for (const one of isFixed ? found : [])
      plan.faults.push(
        `${wanted.at}: Can't change ${one.field} of ${name} from ${shortText(one.from)} to ${shortText(one.to)}. Delete it first, or use another ${kind.key}.`,
      );
    if (field === "status" && wanted.noun === "template" && !isStep(from, to))
      plan.faults.push(`${wanted.at}: Can't change template ${wanted.key} from ${from} to ${to}.`);
  }
  if (wanted.noun === "template" && wanted.body.version !== null)
    plan.faults.push(...editFaults(wanted, there, changes, state));
  if (changes.length > 0) plan.steps.push({ operation: "change", wanted: filled, there, changes });
  else if (sent.length > 0) {
    const masked = sent.map((field) => ({ field, from: MASK, to: MASK }));
    plan.steps.push({ operation: "send", wanted: filled, there, changes: masked });
  } else plan.unchanged++;
}

/** What an import knew about an API stays if a file doesn't have it, as those of earlier versions. */
function withImported(wanted: Wanted, there: There): Wanted {
  if (wanted.noun !== "api") return wanted;
  const { authHints = null, endpoints = [] } = wanted.body;
  const listingOf = (name: Json | undefined) =>
    itemsOf(there.body.endpoints).find((one) => one.name === name)?.listing;
  const body = {
    ...wanted.body,
    authHints: authHints ?? there.body.authHints ?? null,
    endpoints: itemsOf(endpoints).map((one) => ({
      ...one,
      listing: one.listing ?? listingOf(one.name) ?? null,
    })),
  };
  return { ...wanted, body };
}

const itemsOf = (list: Json | undefined): JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : []);

const isStep = (from: Json, to: Json) =>
  (from === "draft" && to === "published") || (from === "published" && to === "deprecated");

/** Credentials and secrets in a resource's fields. */
export function unseenIn(body: JsonObject): string[] {
  const names = isObject(body.credentials) ? Object.keys(body.credentials) : [];
  const secret = typeof body.secret === "string" ? ["secret"] : [];
  return [...names.map((name) => `credentials.${name}`), ...secret];
}

/**
 * Secrets that aren't set are kept, since exports have placeholders for them. Anything else that isn't set is a fault.
 */
function withKept(wanted: Wanted, there: There, plan: Plan): Wanted {
  if (wanted.unset.length === 0) return wanted;
  const { noun, shown: key } = wanted;
  const isUnset = (path: Path) => wanted.unset.some((one) => one.path.join("\0") === path.join("\0"));
  for (const { path, at, lack } of wanted.unset) {
    const field = path.join(".");
    if (isHeld(path)) plan.notes.push(`${at}: ${lack} ${field} of ${noun} ${key} is unchanged.`);
    else plan.faults.push(`${at}: ${lack} It is required for ${field} of ${noun} ${key}.`);
  }
  function isHeld(path: Path): boolean {
    if (path[0] === "url") return true;
    if (isUnseen(path)) return there.hasUnseen || path[0] === "credentials";
    const current = valueAt(there.body, path);
    return typeof current === "string" && isSecretText(current, path);
  }
  const body = mapTexts(wanted.body, (text, path) =>
    isUnset(path) ? (isUnseen(path) ? null : (valueAt(there.body, path) ?? text)) : text,
  ) as JsonObject;
  if (isObject(body.credentials))
    body.credentials = Object.fromEntries(
      Object.entries(body.credentials).filter(([, value]) => value !== null),
    );
  return { ...wanted, body, hiddenPaths: [...wanted.hiddenPaths, ...wanted.unset.map(({ path }) => path)] };
}

type Found = ReturnType<typeof differencesOf>[number];

/** The server doesn't show the end of a Slack URL, so whether it differs is unknown. */
const isUnseenSlackUrl = ({ path, from, to }: Found): boolean =>
  path.at(-1) === "slack" && typeof to === "string" && from === maskedSlackUrl(to);

function masked(found: readonly Found[], hiddenPaths: readonly Path[]): Difference[] {
  const hidden = new Set(hiddenPaths.map((path) => path.join("\0")));
  return found.map(({ path, from, to }) => ({
    field: path.join("."),
    from: maskedValue(from, path, hidden),
    to: maskedValue(to, path, hidden),
  }));
}

/** Masks secrets in a value, and everything at `hidden` paths, whatever its type. */
function maskedValue(value: Json, path: Path, hidden: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item, at) => maskedValue(item, [...path, at], hidden));
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, maskedValue(item, [...path, key], hidden)]),
    );
  if (value !== null && hidden.has(path.join("\0"))) return MASK;
  return typeof value === "string" && isSecretText(value, path) ? MASK : value;
}

/** Resources that a resource refers to. */
function referencesOf({ noun, body }: Wanted): { noun: Noun; key: string }[] {
  const found: { noun: Noun; key: string }[] = [];
  for (const [field, { names }] of Object.entries(kindOf(noun).fields)) {
    const value = body[field];
    if (names !== undefined && names !== "template" && typeof value === "string")
      found.push({ noun: names, key: value });
  }
  mapTexts(body, (text) => {
    const placeholder = placeholderIn(text);
    if (placeholder !== null && "noun" in placeholder) found.push(placeholder);
    return text;
  });
  return found;
}

/**
 * Sorts resources so that each follows those it refers to, as far as possible:
 * by kind, bundles after other templates, automations by their calls.
 */
function inOrder(wanted: readonly Wanted[]): Wanted[] {
  const rank = ({ noun, body }: Wanted) =>
    2 * NOUNS.indexOf(noun) + (noun === "template" && body.templateType === "bundle" ? 1 : 0);
  const versionOf = ({ noun, body }: Wanted) => (noun === "template" ? Number(body.version ?? 0) : 0);
  const waiting = wanted.toSorted((a, b) => rank(a) - rank(b) || versionOf(a) - versionOf(b));
  const order: Wanted[] = [];
  while (waiting.length > 0) {
    const isFree = (one: Wanted) =>
      !waiting.some((other) => other !== one && rank(other) === rank(one) && callsIt(one, other));
    const lowest = rank(waiting[0] as Wanted);
    const next = waiting.findIndex((one) => rank(one) === lowest && isFree(one));
    order.push(...waiting.splice(Math.max(next, 0), 1));
  }
  return order;
}

function callsIt(caller: Wanted, called: Wanted): boolean {
  let isCalled = false;
  mapTexts(caller.body, (text, path) => {
    if (text === `\${${called.noun}:${called.key}}`) isCalled = true;
    if (caller.noun === "automation" && text === called.key && path.at(-1) === "slug") isCalled = true;
    return text;
  });
  return isCalled;
}
