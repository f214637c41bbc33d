import { ERROR_CODES, type ErrorMeaning, RUN_END_CODES } from "../../src/base/error-codes.ts";
import type { ErrorCode } from "../../src/base/errors.ts";
import { KINDS } from "../../src/cli/apply/kinds.ts";
import { PRESETS, SIGNATURE_PRESETS } from "../../src/crypto/presets.ts";
import { STATUS } from "../../src/http/problem.ts";
import { CONFIGS } from "../../src/resources/automations/config-shapes.ts";
import { TRIGGER_TYPES } from "../../src/resources/automations/table.ts";
import { EVENTS } from "../../src/resources/events/table.ts";
import { schemaDocument, schemaUrn } from "../../src/resources/openapi/schemas.ts";
import { TRIGGERS } from "../../src/resources/openapi/typed/automations.ts";
import { inputTable, type Schema, table } from "./fields.ts";

/** Reference pages, generated entirely from the code. */
export const referencePages = (): { path: string; title: string; parts: Record<string, string> }[] => [
  {
    path: "reference/error-codes.md",
    title: "Error codes",
    parts: { codes: errorTable(), runs: meanings(RUN_END_CODES) },
  },
  { path: "reference/events.md", title: "Event types", parts: { events: eventTables() } },
  {
    path: "reference/triggers.md",
    title: "Triggers",
    parts: { triggers: triggerTables(), common: inputTable(CONFIGS.manual as Schema) },
  },
  { path: "reference/webhook-senders.md", title: "Webhook senders", parts: { senders: senderTable() } },
  {
    path: "reference/configuration-files.md",
    title: "Configuration files",
    parts: { sections: sectionTables() },
  },
];

const errorTable = () =>
  table(
    ["code", "status", "cause", "what to do"],
    Object.entries(ERROR_CODES).map(([code, { cause, cure }]) => [
      `\`${code}\``,
      String(STATUS[code as ErrorCode]),
      cause,
      cure,
    ]),
  );

const meanings = (codes: Readonly<Record<string, ErrorMeaning>>) =>
  table(
    ["code", "cause", "what to do"],
    Object.entries(codes).map(([code, { cause, cure }]) => [`\`${code}\``, cause, cure]),
  );

function eventTables(): string {
  const groups = Map.groupBy(Object.entries(EVENTS), ([type]) => type.split(".")[0] ?? "");
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, events]) => {
      const rows = events.map(([type, meaning]) => [`\`${type}\``, `${meaning}.`]);
      return `## ${group}\n\n${table(["type", "meaning"], rows)}`;
    })
    .join("\n\n");
}

/** Returns the fields of each trigger, except those that all of them have. */
function triggerTables(): string {
  const common = Object.keys(CONFIGS.manual.properties);
  return TRIGGER_TYPES.map((trigger) => {
    const { properties, required = [] } = CONFIGS[trigger];
    const own = Object.entries(properties).filter(([name]) => !common.includes(name));
    const shape = { type: "object", properties: Object.fromEntries(own), required };
    const fields = own.length > 0 ? inputTable(shape as Schema) : "No fields of its own.";
    return `## ${trigger}\n\n${TRIGGERS[trigger]}\n\n${fields}`;
  }).join("\n\n");
}

const senderTable = () =>
  table(
    ["signaturePreset", "header", "what it holds", "same for a message that is sent again"],
    SIGNATURE_PRESETS.map((name) => {
      const { header, sendsSecret, repeatKey } = PRESETS[name];
      const [where, key] = repeatKey;
      return [
        `\`${name}\``,
        `\`${header}\``,
        sendsSecret ? "the secret itself" : "an HMAC-SHA-256 signature",
        where === "header" ? `header \`${key}\`` : `\`${key}\` in the body`,
      ];
    }),
  );

interface Drawn {
  $ref?: string;
  description?: string;
  properties?: Record<string, Drawn>;
  items?: Drawn;
  oneOf?: Drawn[];
  anyOf?: Drawn[];
  $defs?: Record<string, Drawn>;
}

/** Descriptions of fields whose meaning depends on the kind, the provider or the type. */
const GENERAL: Readonly<Record<string, string>> = {
  definition: "Settings: of an action's kind, or what a template makes",
  config: "Settings: of the connection's provider, or the automation's trigger and steps",
  credentials: "What authenticates, best given as placeholders",
};

const TYPES = {
  text: "text",
  flag: "true or false",
  object: "object",
  list: "list",
  number: "number",
} as const;

/** Returns the sections of a file for `weir apply`. Field descriptions come from their schemas. */
function sectionTables(): string {
  const schema = schemaDocument("config", schemaUrn("config")) as unknown as Drawn;
  const meaningOf = (section: string, field: string): string => {
    const items = schema.properties?.[section]?.items ?? {};
    if (GENERAL[field] !== undefined) return GENERAL[field];
    const variants = items.oneOf ?? items.anyOf ?? [items];
    const found = variants.map(({ properties }) => properties?.[field]).find((drawn) => drawn !== undefined);
    const named = schema.$defs?.[found?.$ref?.split("/").at(-1) ?? ""];
    return (found?.description ?? named?.description ?? "").replace(/\.$/, "");
  };
  return KINDS.map(({ section, key, fields }) => {
    const rows = Object.entries(fields).map(([name, { type, fallback }]) => [
      `\`${name}\`${fallback === undefined ? " \\*" : ""}`,
      TYPES[type],
      [meaningOf(section, name), fallback ? `Default \`${JSON.stringify(fallback)}\`.` : ""]
        .filter(Boolean)
        .join(". "),
    ]);
    const head = [`\`${key}\` \\*`, "text", meaningOf(section, key)];
    return `## ${section}\n\n${table(["field", "what", "meaning"], [head, ...rows])}`;
  }).join("\n\n");
}
