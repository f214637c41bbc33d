import { InvalidInput } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { valueFaults } from "../../base/json-schema.ts";
import { type Context, write } from "../../context.ts";
import type { FormTrigger } from "../automations/config.ts";
import type { Webhook } from "../inbound/gate.ts";
import { type Answerable, CREDENTIAL_HEADERS, storeDelivery } from "../inbound/intake.ts";
import { typed } from "./typed.ts";

/** Answers as received. */
export interface Answers {
  answers: Json;
  /** Form fields are text, whatever the schema says. */
  isText: boolean;
  headers: Headers;
  query: JsonObject;
  address: string;
  /** The signed-in user who sends them. Null if anonymous. */
  person: { userId: string; email: string | null } | null;
}

/** Header that shows templates the signed-in user. It is removed from the request itself. */
const PERSON = "x-weir-user";

/**
 * Stores the answers and starts the run, in one transaction.
 * Throws `InvalidInput` for answers that don't match the schema.
 */
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
