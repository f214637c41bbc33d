import type { Egress } from "../base/egress.ts";
import { isObject, type Json, parseJson } from "../base/json.ts";

/** Assumed context length of a model if it is unknown. */
export const LEAST_TOKENS = 8192;

const MAX_BYTES = 4 * 1024 * 1024;
const ASK_MS = 5_000;

/** Names of the context length in vLLM, OpenRouter, Groq, LM Studio, Anthropic; llama.cpp has it in `meta`. */
const NAMES = [
  "max_model_len",
  "context_length",
  "context_window",
  "max_context_length",
  "max_input_tokens",
  "n_ctx",
] as const;

function tokensIn(entry: Json | undefined): number | null {
  if (!isObject(entry)) return null;
  const found = NAMES.map((name) => entry[name]).find((value) => typeof value === "number" && value > 0);
  return typeof found === "number" ? found : tokensIn(entry.meta);
}

interface Question {
  egress: Egress;
  url: string;
  headers: Record<string, string>;
  model: string;
  signal: AbortSignal;
}

/** Context length of the endpoint's model in tokens; null if the endpoint doesn't say. */
export async function roomOf({ egress, url, headers, model, signal }: Question): Promise<number | null> {
  let reply: Json;
  try {
    const response = await egress.fetch(url, { headers, signal, timeoutMs: ASK_MS, maxRedirects: 0 });
    const { bytes, truncated } = await response.bytes(MAX_BYTES);
    if (response.status !== 200 || truncated) return null;
    reply = parseJson(new TextDecoder().decode(bytes));
  } catch (error) {
    if (signal.aborted) throw error;
    return null; // unavailable: the next request reports the error
  }
  if (!isObject(reply)) return null;
  const { data } = reply;
  if (!Array.isArray(data)) return tokensIn(reply);
  const own = data.find((entry) => isObject(entry) && entry.id === model);
  return tokensIn(own ?? (data.length === 1 ? data[0] : undefined));
}
