import { canonicalJson, isObject, type JsonObject } from "../base/json.ts";
import { schemaFaults } from "../base/json-schema.ts";
import { measure } from "../base/measure.ts";
import { asksForMore, DECLINE, ELICIT, noteDecline, ROOTS } from "./declined.ts";
import { type ServerRequest, serverRequest } from "./rpc.ts";
import { hostOf, type McpServer } from "./wire.ts";

/** A form that a server asks a person to fill in during a call. */
export interface Question {
  message: string;
  /** JSON Schema of an object with scalar fields. */
  schema: JsonObject;
  /** Equal for equal questions. */
  hash: string;
}

/** Thrown by a call that needs a person's answer. It can be repeated with the answer. */
export class Unanswered extends Error {
  readonly question: Question;
  constructor(question: Question) {
    super("The server asks for a person's input.");
    this.question = question;
  }
}

const MAX_FORM_CHARACTERS = 65_536;
/** The protocol's value for a person who leaves without answering. */
const CANCEL = { action: "cancel" };

/** Declares that Weir can fill in forms, if someone is there to answer. */
export const capabilitiesOf = ({ answer }: McpServer): JsonObject =>
  answer === undefined ? {} : { elicitation: { form: {} } };

/**
 * Result of a server's `elicitation/create`: the person's answer, with the form's defaults for omitted fields.
 * Without an answer, `unanswered` gets the question. Questions that can't be shown as a form are declined.
 */
export function elicited(
  server: McpServer,
  request: ServerRequest,
  declined: string[],
  unanswered: (question: Question) => void,
): JsonObject {
  const question = questionOf(request);
  const answer = question === null ? "declined" : (server.answer?.(question) ?? "declined");
  if (question === null || answer === "declined") {
    noteDecline(declined, hostOf(server), request);
    return DECLINE;
  }
  if (answer !== "unanswered")
    return { action: "accept", content: { ...defaultsOf(question.schema), ...answer } };
  unanswered(question);
  return CANCEL;
}

/** For callers with nobody to ask. Servers offer them the same tools, but their requests are declined. */
export const declineAll = (): "declined" => "declined";

function questionOf({ method, message, form }: ServerRequest): Question | null {
  if (method !== ELICIT || form === null || measure(form, MAX_FORM_CHARACTERS) > MAX_FORM_CHARACTERS)
    return null;
  if (form.type !== "object" || schemaFaults(form).length > 0) return null;
  const text = message ?? "";
  return { message: text, schema: form, hash: Bun.SHA256.hash(canonicalJson({ text, form }), "hex") };
}

function defaultsOf({ properties }: JsonObject): JsonObject {
  const fields = isObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    fields.flatMap(([name, field]) =>
      isObject(field) && field.default !== undefined ? [[name, field.default]] : [],
    ),
  );
}

/**
 * What to send a request again with after a 2026-07-28 answer that asks for input:
 * a person's answer, rejections of all other questions, and the server's state unchanged.
 * Throws `Unanswered`, and `upstream` for a question that the protocol can't decline.
 */
export function answerTo(
  server: McpServer,
  method: string,
  result: JsonObject,
  declined: string[],
): JsonObject {
  const host = hostOf(server);
  const { resultType, inputRequests, requestState } = result;
  const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  const isAsking = resultType === "input_required" && (questions.length > 0 || requestState !== undefined);
  if (!isAsking) throw asksForMore(host, method, declined);
  const inputResponses: JsonObject = {};
  for (const [key, raw] of questions) {
    const question = serverRequest(isObject(raw) ? raw : {});
    if (question.method === ELICIT) {
      inputResponses[key] = elicited(server, question, declined, (unanswered) => {
        throw new Unanswered(unanswered);
      });
      continue;
    }
    noteDecline(declined, host, question);
    if (question.method === ROOTS) inputResponses[key] = { roots: [] };
    else throw asksForMore(host, method, declined);
  }
  return {
    ...(questions.length > 0 ? { inputResponses } : {}),
    ...(requestState === undefined ? {} : { requestState }),
  };
}
