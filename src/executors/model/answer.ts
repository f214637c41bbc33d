import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { parseLossless } from "../../base/json-numbers.ts";
import { valueFaults } from "../../base/json-schema.ts";
import type { ModelMessage, ModelRequest, Usage } from "../../models/contract.ts";
import { cutOff } from "../../models/failure.ts";
import type { RunContext } from "../contract.ts";

type Asker = Pick<RunContext, "model" | "signal">;

export interface Question {
  system: string;
  prompt: string;
  /** JSON Schema of the answer. */
  schema: JsonObject;
}

/**
 * Returns what is wrong with an answer that matches its schema, as a sentence that helps to correct it. Null if nothing
 * is.
 */
export type Check<T> = (value: T) => Promise<string | null> | string | null;

/**
 * Returns the model's answer as JSON that matches the question's schema and passes `check`. The model can correct it
 * once. Throws `output_invalid` with the remaining error, and the model's own errors.
 */
export async function answerOf<T extends JsonObject>(
  ctx: Asker,
  { system, prompt, schema }: Question,
  check: Check<T> = () => null,
): Promise<{ value: T; usage: Usage }> {
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const messages: ModelMessage[] = [{ role: "user", content: prompt }];
  const whole = `${system}\n\nAnswer with JSON alone, and nothing around it. It has to fit this JSON Schema:\n${JSON.stringify(schema)}`;
  let fault = "";
  for (let tries = 1; tries <= 2; tries++) {
    const text = await replyOf(ctx, { system: whole, messages, outputSchema: schema, temperature: 0 }, usage);
    const value = jsonIn(text);
    fault = faultOf(value, schema) ?? (await check(value as T)) ?? "";
    if (fault === "") return { value: value as T, usage };
    messages.push(
      { role: "assistant", content: text, calls: [] },
      {
        role: "user",
        content: `That can't be used: ${fault} Mend it, and answer with the whole JSON again.`,
      },
    );
  }
  throw new AppError("output_invalid", `The model's answer can't be used: ${fault}`);
}

/**
 * Returns the model's answer as text, or the `text` of an answer in JSON that has no other field. Throws
 * `output_invalid` for an empty answer, and the model's own errors.
 */
export async function textOf(
  ctx: Asker,
  { system, prompt }: Omit<Question, "schema">,
): Promise<{ text: string; usage: Usage }> {
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const messages: ModelMessage[] = [{ role: "user", content: prompt }];
  const reply = await replyOf(ctx, { system, messages, temperature: 0 }, usage);
  if (reply.trim() === "") throw new AppError("output_invalid", "The model's answer is empty.");
  const [, fenced = reply] = /^\s*```(?:json)?\s*\n([\s\S]*)```\s*$/.exec(reply) ?? [];
  const value = parsed(fenced);
  const isOnlyText = isObject(value) && typeof value.text === "string" && Object.keys(value).length === 1;
  return { text: isOnlyText ? String(value.text) : reply, usage };
}

/** Returns the text of one whole reply, and adds to `usage`. */
async function replyOf({ model, signal }: Asker, request: ModelRequest, usage: Usage): Promise<string> {
  let text = "";
  for await (const event of model.stream(request, signal)) {
    if (event.type === "text") text += event.delta;
    if (event.type !== "finish") continue;
    usage.inputTokens += event.usage.inputTokens;
    usage.outputTokens += event.usage.outputTokens;
    const cut = cutOff(event.reason);
    if (cut) throw cut;
  }
  return text;
}

function faultOf(value: Json | undefined, schema: JsonObject): string | null {
  if (value === undefined) return "It is not JSON.";
  if (!isObject(value)) return "It is not a JSON object.";
  const faults = valueFaults(schema, value).slice(0, 10);
  if (faults.length === 0) return null;
  return faults.map(({ path, message }) => `${path.join(".")}: ${message}.`).join(" ");
}

/** JSON in a model's output, which may contain a code fence or other text. */
function jsonIn(text: string): Json | undefined {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/.exec(text)?.[1];
  const braced = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
  for (const candidate of [text, fenced, braced]) {
    const value = candidate === undefined ? undefined : parsed(candidate);
    if (value !== undefined) return value;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseLossless(text);
  } catch {
    return undefined; // words, or JSON among words
  }
}
