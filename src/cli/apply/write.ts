import type { JsonObject } from "../../base/json.ts";
import { MASK, maskSecrets } from "../../base/mask.ts";
import { escaped, variableName } from "../../base/placeholder.ts";
import { completed, KINDS, kindOf, shortened } from "./kinds.ts";
import type { State, There } from "./state.ts";
import { isSecretText, mapTexts, slugOfKey } from "./text.ts";

/** Version of the file format. */
export const FORMAT = 1;

/** JSON Schema for editors, next to the files, since files that are moved around don't know a server's URL. */
export const SCHEMA_FILE = "weir.schema.json";

const ABOUT = `# yaml-language-server: $schema=${SCHEMA_FILE}
# Weir configuration, written by \`weir export\`. Apply it with \`weir apply -f\`.
# Editors complete and check it with the schema: \`weir schema config > ${SCHEMA_FILE}\`.
`;

/** A state as in files: by section, without IDs and secrets. */
export function sectionsOf(state: State): Record<string, JsonObject[]> {
  const taken = new Set<string>();
  return Object.fromEntries(
    KINDS.filter(({ noun }) => !state.unread.has(noun)).map(({ noun, section }) => [
      section,
      state.things
        .filter((thing) => thing.noun === noun && thing.isExported)
        .sort(byKey)
        .map((thing) => written(thing, taken)),
    ]),
  );
}

const byKey = (a: There, b: There): number =>
  slugOfKey(a.key) === slugOfKey(b.key) && a.version !== b.version
    ? (a.version ?? 0) - (b.version ?? 0)
    : a.key < b.key
      ? -1
      : 1;

/** Versions of templates are written only if there is more than one. */
const UNNUMBERED: JsonObject = { version: null, templateVersion: null };

function written(thing: There, taken: Set<string>): JsonObject {
  const kind = kindOf(thing.noun);
  const hidden = (words: readonly string[]): string => {
    const name = variableName(words);
    for (let n = 1; ; n++) {
      const free = n === 1 ? name : `${name}_${n}`;
      if (taken.has(free)) continue;
      taken.add(free);
      return `\${${free}}`;
    }
  };
  const body: JsonObject = { ...completed(kind, thing.body), ...(thing.isNumbered ? {} : UNNUMBERED) };
  for (const [name, value] of Object.entries(body)) {
    if (thing.noun === "agent" || typeof value !== "object") continue;
    body[name] = mapTexts(value, (text, path) =>
      isSecretText(text, [name, ...path]) ? hidden([thing.key, ...path.map(String)]) : text,
    );
  }
  if (thing.noun === "connection" && (thing.hasUnseen || thing.credentials.length > 0))
    body.credentials = Object.fromEntries(thing.credentials.map((name) => [name, hidden([thing.key, name])]));
  if (thing.noun === "automation" && thing.hasUnseen) body.secret = hidden([thing.key, "secret"]);
  if (thing.noun === "webhook") body.secret = hidden([hostOf(thing.key), "webhook", "secret"]);
  return { [kind.key]: keyOf(thing, hidden), ...shortened(kind, body) };
}

/** A webhook's URL has placeholders for its secrets. */
function keyOf({ noun, key }: There, hidden: (words: readonly string[]) => string): string {
  if (noun === "template") return escaped(slugOfKey(key));
  if (noun !== "webhook") return escaped(key);
  const url = key.replace(/ \(\d+\)$/, "");
  const parts = String(maskSecrets(url)).split(MASK);
  return parts
    .map((part, at) => escaped(part) + (at + 1 < parts.length ? hidden([hostOf(url), "url"]) : ""))
    .join("");
}

const hostOf = (url: string): string => URL.parse(url)?.hostname ?? "webhook";

/** Writes these sections as YAML. The same sections always give the same text. */
export async function yamlOf(sections: Readonly<Record<string, JsonObject[]>>): Promise<string> {
  const { stringify } = await import("yaml");
  const body = stringify(
    { weir: FORMAT, ...sections },
    { lineWidth: 0, aliasDuplicateObjects: false, version: "1.2" },
  );
  return ABOUT + body;
}
