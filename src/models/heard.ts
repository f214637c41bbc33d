import { isObject, type Json } from "../base/json.ts";
import type { Heard, ModelMessage, OpenAgent } from "./contract.ts";
import { outputIn } from "./history.ts";

/** Who writes more addresses into one message has pasted what others wrote; none of them counts then. */
const MAX_GIVEN = 20;
/** What may follow an address in a text, and is not of it. */
const AFTER = /[.,;:!?)\]}>*_~'"]$/;
const MAX_CUT = 4;

/**
 * What others than a model have told an agent, and where it stands. People's words and the spec's give addresses; what
 * pages and other tools bring gives none, as whoever wrote it chose them. Of a search only the addresses of hits count,
 * never their texts.
 */
export function heardBy(agent: OpenAgent, messages: readonly ModelMessage[]): Heard {
  const addresses = new Set<string>(addressesIn(agent.system));
  const found = new Set<string>();
  const made = new Map<string, number>();
  let hasData = agent.isAskedByAgent;
  for (const message of messages) {
    if (message.role === "user") {
      made.clear();
      if (!agent.isAskedByAgent) for (const address of addressesIn(message.content)) addresses.add(address);
    }
    if (message.role !== "tool") continue;
    made.set(message.name, (made.get(message.name) ?? 0) + 1);
    const tool = agent.tools.find(({ name }) => name === message.name);
    hasData ||= tool?.isOfTheWeb !== true;
    if (message.isError || !tool?.isSearch) continue;
    for (const address of hitsIn(outputIn(message.content))) found.add(address);
  }
  return { given: addresses, found, hasData, made };
}

/** An address as it is asked for: what one spelling differs from another by is not sent. Null for what is none. */
export function spelt(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  url.hash = "";
  return url.href;
}

/** The addresses that a text writes out, each with and without the signs at its end. */
function addressesIn(text: string): string[] {
  const written = new Set<string>();
  for (const whole of text.match(/https?:\/\/[^\s<>"`\\]+/gi) ?? [])
    for (const part of [whole, ...whole.split(/(?=https?:\/\/)/i)]) written.add(part);
  if (written.size > MAX_GIVEN) return [];
  return [...written].flatMap((part) => readings(part)).flatMap((part) => spelt(part) ?? []);
}

function readings(part: string): string[] {
  const all = [part, part.split(/[)\]]/, 1)[0] ?? part];
  let cut = part;
  for (let n = 0; n < MAX_CUT && AFTER.test(cut); n++) {
    cut = cut.slice(0, -1);
    all.push(cut);
  }
  return all;
}

/** The `url` of each hit in what a search brought, as its run tells it. */
function hitsIn(output: Json): string[] {
  const result = isObject(output) && isObject(output.result) ? output.result : {};
  const hits = Array.isArray(result.results) ? result.results : [];
  return hits.flatMap((hit) => (isObject(hit) && typeof hit.url === "string" ? (spelt(hit.url) ?? []) : []));
}
