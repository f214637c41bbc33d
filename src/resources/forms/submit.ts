import { InvalidInput } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { valueFaults } from "../../base/json-schema.ts";
import { type Context, write } from "../../context.ts";
import type { FormTrigger } from "../automations/config.ts";
import type { Webhook } from "../inbound/gate.ts";
import { type Answerable, CREDENTIAL_HEADERS, storeDelivery } from "../inbound/intake.ts";

/** Answers as received. */
export interface Answers {
  answers: Json;
  /** Fields of a form are text, whatever the schema says. */
  isText: boolean;
  headers: Headers;
  query: JsonObject;
  address: string;
  /** The signed-in user who sends them. Null for anyone. */
  person: { userId: string; email: string | null } | null;
}

/** Header with which templates see the signed-in user. One in the request is removed. */
const PERSON = "x-weir-user";

/** Stores the answers and starts the run, in one transaction. Throws `InvalidInput` for what the schema does not take. */
export async function submit(ctx: Context, form: Webhook, sent: Answers): Promise<Answerable> {
  const { schema } = form.config.form as FormTrigger;
  const payload = sent.isText ? typed(schema, sent.answers) : sent.answers;
  const faults = valueFaults(schema, payload);
  if (faults.length > 0)
    throw new InvalidInput(
      faults.map(({ path, message, type }) => ({ loc: ["body", ...path], msg: message, type })),
    );
  const { person, query } = sent;
  const headers: JsonObject = Object.fromEntries(
    [...sent.headers].filter(([name]) => !CREDENTIAL_HEADERS.has(name) && name !== PERSON),
  );
  if (person?.email) headers[PERSON] = person.email;
  const delivery = {
    payload,
    headers,
    query,
    repeatKey: null,
    ipAddress: sent.address,
    isKept: false,
    replayOf: null,
  };
  const by = person
    ? ({ method: "form", sourceType: "user", sourceId: person.userId } as const)
    : ({ method: "form", sourceType: "system" } as const);
  const accepted = await write(ctx, (tx) => storeDelivery(tx, form, delivery, payload, by));
  return { ...accepted, trigger: { payload, headers, query } };
}

/** Texts as the values that the schema asks for, where they can be read so; an empty one is none. */
function typed(schema: JsonObject, answers: Json): Json {
  if (!isObject(answers)) return answers;
  const values = Object.entries(answers).flatMap(([name, value]): [string, Json][] => {
    const of = isObject(schema.properties) ? schema.properties[name] : undefined;
    if (value === "") return [];
    return [[name, isObject(of) ? readText(of, value) : value]];
  });
  return Object.fromEntries(values);
}

function readText({ type, items, enum: values, const: value }: JsonObject, text: Json): Json {
  const types = [type].flat(1);
  if (types.includes("array")) {
    const list = Array.isArray(text) ? text : [text];
    return isObject(items) ? list.map((item) => readText(items, item)) : list;
  }
  if (typeof text !== "string" || types.includes("string")) return text;
  const fixed = value === undefined ? values : [value];
  if (Array.isArray(fixed)) return fixed.find((one) => one === text || String(one) === text) ?? text;
  if (types.includes("boolean")) {
    if (["true", "on", "1"].includes(text)) return true;
    if (text === "false") return false;
  }
  const isNumber = types.includes("number") || types.includes("integer");
  const number = isNumber && NUMBER.test(text.trim()) ? Number(text) : Number.NaN;
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text;
}

/** What a browser's number field sends. */
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
