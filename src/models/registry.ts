import type { Clock } from "../base/clock.ts";
import { type EgressOptions, openEgress } from "../base/egress.ts";
import { toOwn } from "../base/egress-gate.ts";
import { AppError } from "../base/errors.ts";
import { anthropic } from "./anthropic.ts";
import type { ModelAdapter, ModelEvent, ModelRequest, Models } from "./contract.ts";
import { MAX_TEXT_CHARACTERS } from "./limits.ts";
import { openAiCompatible } from "./openai-compatible.ts";
import { LEAST_TOKENS } from "./room.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";
const ANTHROPIC_MODEL = "claude-sonnet-4-5";
/** Servers with a single model ignore the name; others report that it is unknown, which is passed on. */
const NAMELESS_MODEL = "default";

const MAX_TRIES = 3;
const PAUSES_MS = [500, 2_000];
/** Longer pauses requested by an endpoint aren't waited for. */
const MAX_PAUSE_MS = 10_000;
/** Maximum duration of one reply. */
const TOTAL_MS = 15 * 60 * 1000;

export interface ModelSettings {
  baseUrl: string | null;
  apiKey: string | null;
  model: string | null;
  anthropicUrl: string | null;
  anthropicKey: string | null;
  /** Timeout between tokens, and before the first one. */
  silenceMs: number;
  totalMs?: number;
  egress: EgressOptions;
  clock: Clock;
}

/** The operator's model, if one is configured. A configured URL may be a private address. */
export function openModels(settings: ModelSettings): Models {
  const adapter = adapterOf(settings);
  const rooms = new Map<string, number>();
  const require = () => {
    if (adapter === null)
      throw new AppError(
        "llm_not_configured",
        "No language model is configured: set WEIR_LLM_BASE_URL and WEIR_LLM_MODEL, or ANTHROPIC_API_KEY, and start again.",
      );
  };
  return {
    configured: adapter && { provider: adapter.provider, model: adapter.model },
    require,
    async roomOf(model, signal) {
      if (adapter === null) return LEAST_TOKENS;
      const name = model ?? adapter.model;
      const found = rooms.get(name) ?? (await adapter.roomOf(name, signal)) ?? LEAST_TOKENS;
      rooms.set(name, found);
      return found;
    },
    async *stream(request, signal) {
      require();
      if (adapter !== null) yield* insist(adapter, request, signal, settings);
    },
  };
}

function adapterOf(settings: ModelSettings): ModelAdapter | null {
  const { baseUrl, apiKey, model, anthropicKey } = settings;
  if (baseUrl !== null) {
    const egress = openEgress(toOwn(settings.egress, baseUrl));
    return openAiCompatible({ egress, baseUrl, apiKey, model: model ?? NAMELESS_MODEL });
  }
  if (anthropicKey === null) return null;
  const url = settings.anthropicUrl ?? ANTHROPIC_URL;
  const egress = openEgress(toOwn(settings.egress, settings.anthropicUrl));
  return anthropic({ egress, baseUrl: url, apiKey: anthropicKey, model: model ?? ANTHROPIC_MODEL });
}

/** Retries attempts that failed before the first event, if the error is retryable. */
async function* insist(
  adapter: ModelAdapter,
  request: ModelRequest,
  signal: AbortSignal,
  settings: ModelSettings,
): AsyncGenerator<ModelEvent> {
  for (let tried = 1; ; tried++) {
    let hasBegun = false;
    try {
      for await (const event of watched(adapter, request, signal, settings)) {
        hasBegun = true;
        yield event;
      }
      return;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (hasBegun) throw cutOff(error);
      const pause = pauseAfter(error, tried);
      if (pause === null) throw error;
      await settings.clock.sleep(pause, signal);
      if (signal.aborted) throw signal.reason;
    }
  }
}

/** Error for a connection that breaks during a reply. */
const cutOff = (error: unknown): unknown =>
  error instanceof AppError && error.code === "upstream" && error.cause !== undefined && error.retryable
    ? new AppError("llm_stream_cut", "The model's endpoint ended its reply early.", {
        retryable: true,
        cause: error,
      })
    : error;

/** Milliseconds to wait before another attempt; null for none. */
function pauseAfter(error: unknown, tried: number): number | null {
  if (!(error instanceof AppError) || !error.retryable || tried >= MAX_TRIES) return null;
  if (error.code === "timeout") return null; // the timeout was long enough
  const requestedMs = (error.retryAfterSeconds ?? 0) * 1000;
  return requestedMs > MAX_PAUSE_MS ? null : Math.max(requestedMs, PAUSES_MS[tried - 1] ?? 0);
}

/** One attempt with its timeouts and its text limit. */
async function* watched(
  adapter: ModelAdapter,
  request: ModelRequest,
  signal: AbortSignal,
  { silenceMs, totalMs = TOTAL_MS }: ModelSettings,
): AsyncGenerator<ModelEvent> {
  const cut = new AbortController();
  const give = () => cut.abort(signal.reason);
  if (signal.aborted) give();
  signal.addEventListener("abort", give, { once: true });
  const late = (what: string) =>
    cut.abort(new AppError("timeout", `The model ${what}.`, { retryable: true }));
  const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`;
  const total = setTimeout(() => late(`took longer than ${seconds(totalMs)} for one reply`), totalMs);
  let quiet: Timer | undefined;
  const listen = (what: string) => {
    clearTimeout(quiet);
    quiet = setTimeout(() => late(what), silenceMs);
  };
  let size = 0;
  try {
    listen(`didn't start to respond within ${seconds(silenceMs)}`);
    for await (const event of adapter.stream(request, cut.signal)) {
      if (event.type === "text" || event.type === "reasoning") size += event.delta.length;
      if (size > MAX_TEXT_CHARACTERS)
        throw new AppError("response_too_large", "The model's reply didn't end, so it was cancelled.");
      clearTimeout(quiet);
      yield event;
      listen(`sent nothing for ${seconds(silenceMs)} in the middle of its reply`);
    }
  } catch (error) {
    throw cut.signal.aborted ? cut.signal.reason : error;
  } finally {
    clearTimeout(total);
    clearTimeout(quiet);
    signal.removeEventListener("abort", give);
    cut.abort();
  }
}
