import { isObject, type Json } from "../base/json.ts";
import type { Heard, ModelMessage, OpenAgent } from "./contract.ts";
import { outputIn } from "./history.ts";

/** A message with more URLs was probably pasted from elsewhere; none of them counts then. */
const MAX_GIVEN = 20;
/** Characters after a URL in a text that aren't part of it. */
const AFTER = /[.,;:!?)\]}>*_~'"]$/;
const MAX_CUT = 4;

/**
 * What an agent has learned from sources other than its model. Messages of people and the spec provide URLs; pages and
 * other tool results don't, because their authors chose them. Of a search only the URLs of results count, never their
 * text.
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
  return { writtenUrls: addresses, found, hasData, made };
}

/** A URL as it is requested, without parts that aren't sent. Null if it is invalid. */
export function spelt(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  url.hash = "";
  return url.href;
}

/** The URLs in a text, each with and without its trailing punctuation. */
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

/** The `url` of each result in the output of a search run. */
function hitsIn(output: Json): string[] {
  const result = isObject(output) && isObject(output.result) ? output.result : {};
  const hits = Array.isArray(result.results) ? result.results : [];
  return hits.flatMap((hit) => (isObject(hit) && typeof hit.url === "string" ? (spelt(hit.url) ?? []) : []));
}
