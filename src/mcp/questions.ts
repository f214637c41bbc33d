import { canonicalJson, isObject, type JsonObject } from "../base/json.ts";
import { schemaFaults } from "../base/json-schema.ts";
import { measure } from "../base/measure.ts";
import { asksForMore, DECLINE, ELICIT, noteDecline, ROOTS } from "./declined.ts";
import { type ServerRequest, serverRequest } from "./rpc.ts";
import { hostOf, type McpServer } from "./wire.ts";

/** A form that a server wants a person to fill in, during a call. */
export interface Question {
  message: string;
  /** JSON Schema of an object with plain fields. */
  schema: JsonObject;
  /** The same for the same question. */
  hash: string;
}

/** Thrown by a call that can't go on before a person has answered; made again with the answer, it can. */
export class Unanswered extends Error {
  readonly question: Question;
  constructor(question: Question) {
    super("The server asks for a person's answer.");
    this.question = question;
  }
}

const MAX_FORM_CHARACTERS = 65_536;
/** The protocol's word for a person who goes away without an answer. */
const CANCEL = { action: "cancel" };

/** What we say that we can do for a server: fill in forms, where someone is there who answers. */
export const capabilitiesOf = ({ answer }: McpServer): JsonObject =>
  answer === undefined ? {} : { elicitation: { form: {} } };

/**
 * The result of a server's `elicitation/create`: the person's answer, with the form's defaults for what they left out.
 * Where there is none yet, `unanswered` hears of the question. A question that can't be shown as a form is declined.
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

/** For those who call without anyone to ask: servers offer the same tools to them, and are told no. */
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
 * What a request is sent again with, after an answer of 2026-07-28 that asks back: what a person answered, a no to
 * every other question, and the server's own state as it came. Throws `Unanswered`, and `upstream` for a question that
 * the protocol has no no for.
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
