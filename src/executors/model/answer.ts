import { AppError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { parseLossless } from "../../base/json-numbers.ts";
import { valueFaults } from "../../base/json-schema.ts";
import type { ModelMessage, Usage } from "../../models/contract.ts";
import type { RunContext } from "../contract.ts";

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
  { model, signal }: Pick<RunContext, "model" | "signal">,
  { system, prompt, schema }: Question,
  check: Check<T> = () => null,
): Promise<{ value: T; usage: Usage }> {
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const messages: ModelMessage[] = [{ role: "user", content: prompt }];
  const whole = `${system}\n\nAnswer with JSON alone, and nothing around it. It has to fit this JSON Schema:\n${JSON.stringify(schema)}`;
  let fault = "";
  for (let tries = 1; tries <= 2; tries++) {
    let text = "";
    for await (const event of model.stream(
      { system: whole, messages, outputSchema: schema, temperature: 0 },
      signal,
    )) {
      if (event.type === "text") text += event.delta;
      if (event.type !== "finish") continue;
      usage.inputTokens += event.usage.inputTokens;
      usage.outputTokens += event.usage.outputTokens;
    }
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
    if (candidate === undefined || candidate.trim() === "") continue;
    try {
      return parseLossless(candidate);
    } catch {
      // the next candidate may be JSON
    }
  }
  return undefined;
}
