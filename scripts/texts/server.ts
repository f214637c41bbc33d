import { executors } from "../../src/executors/registry.ts";
import { providers } from "../../src/providers/registry.ts";
import { describeKinds } from "../../src/resources/actions/kinds.ts";
import { describeProviders } from "../../src/resources/connections/providers.ts";
import { translatedSchema } from "../../web/texts/schema.ts";
import { SENTENCES } from "./sentences.ts";
import { namesIn, type TextUse } from "./uses.ts";

/**
 * Texts that the server gives and the page translates, sorted: titles and descriptions of the kinds of actions, of
 * providers and of the fields of both, and sentences that it refuses with.
 */
export function serverTexts(): Map<string, TextUse> {
  const keys = new Set<string>();
  const collect = (text: string) => {
    keys.add(text);
    return text;
  };
  const parts = { executors, providers };
  for (const { title, description, definitionSchema } of describeKinds(parts)) {
    collect(title);
    collect(description);
    translatedSchema(definitionSchema, collect);
  }
  for (const { title, description, configSchema, credentialsSchema } of describeProviders(parts)) {
    collect(title);
    collect(description);
    translatedSchema(configSchema, collect);
    translatedSchema(credentialsSchema, collect);
  }
  for (const sentence of SENTENCES) collect(sentence);
  return new Map(
    [...keys]
      .sort()
      .map((key) => [key, { key, names: namesIn(key, false), isPlural: false, line: 0, isAtLoad: false }]),
  );
}
