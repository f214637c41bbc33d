/**
 * Generates parts of docs/ and the README from the code: fields of kinds and providers, commands, operations, types.
 * `bun scripts/docs.ts` writes them between the markers of each page; the rest is written by hand.
 * A kind or provider without a page gets one. test/docs/pages.test.ts checks the pages against this.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GROUPS } from "../src/base/expression/functions/table.ts";
import { capitalized } from "../src/base/plural.ts";
import { overview } from "../src/cli/help.ts";
import { type Usage, usage } from "../src/cli/usage.ts";
import { executors } from "../src/executors/registry.ts";
import { HttpTemplate } from "../src/providers/http-template/definition.ts";
import { Endpoint } from "../src/providers/http-template/endpoint.ts";
import { providers } from "../src/providers/registry.ts";
import { operations } from "../src/server.ts";
import { inputTable, outputTable, type Schema, table } from "./docs/fields.ts";
import { referencePages } from "./docs/reference.ts";
import { serviceLinks, servicePages } from "./docs/services.ts";
import { settingTables } from "./docs/settings.ts";
import { typeTables } from "./docs/types.ts";

const FOLDER = join(import.meta.dir, "..", "docs");

interface Page {
  /** Below docs/. */
  path: string;
  title: string;
  /** Content between the markers, by name. */
  parts: Readonly<Record<string, string>>;
}

export async function madePages(): Promise<Page[]> {
  return [
    ...Object.values(executors).map((kind) => ({
      path: `kinds/${kind.kind}.md`,
      title: kind.title,
      parts: {
        about: `\`${kind.kind}\`: ${kind.description}${connectionsOf(kind.providers)}`,
        definition: inputTable(kind.definition as Schema),
        result: outputTable(kind.result as Schema),
      },
    })),
    ...[...providers.values()].map((provider) => ({
      path: `providers/${provider.id}.md`,
      title: provider.title,
      parts: {
        about: `\`${provider.id}\`: ${provider.description}`,
        does: abilities(provider),
        config: inputTable(provider.config as Schema),
        credentials: inputTable(provider.credentials as Schema),
      },
    })),
    {
      path: "providers/http.md",
      title: "Any HTTP API",
      parts: {
        template: inputTable(HttpTemplate as Schema),
        endpoint: inputTable(Endpoint as Schema),
      },
    },
    { path: "exact-values.md", title: "How values arrive", parts: await typeTables() },
    {
      path: "templates.md",
      title: "Templates, expressions and conditions",
      parts: { functions: functionTables() },
    },
    {
      path: "commands.md",
      title: "Commands",
      parts: { overview: `\`\`\`text\n${overview()}\n\`\`\``, commands: commands() },
    },
    { path: "configuration.md", title: "Configure", parts: { settings: settingTables() } },
    { path: "api.md", title: "The API", parts: { operations: operationTable() } },
    {
      path: "README.md",
      title: "Weir's documents",
      parts: { kinds: kindLinks(), providers: providerLinks(), services: serviceLinks() },
    },
    ...referencePages(),
    ...servicePages(),
  ];
}

function connectionsOf(ids: readonly string[] | null): string {
  if (ids === null) return " It takes a connection of any provider, or none.";
  if (ids.length === 0) return " It takes no connection.";
  return ` It takes connections of ${ids.map((id) => `[\`${id}\`](../providers/${id}.md)`).join(", ")}.`;
}

function abilities({
  extract,
  files,
  tree,
  tables,
  http,
  mail,
}: NonNullable<ReturnType<typeof providers.get>>): string {
  const can = [
    extract && "`dlt_extract` reads it",
    tree && (tree.writes ? "`file_sync` copies from it and to it" : "`file_sync` copies from it"),
    files && "its files can be browsed",
    tables && "its tables and columns can be browsed",
    tables?.sql && "`generate_query` and `explain_schema` ask it in its own SQL",
    tables?.writes && "`duckdb_transform` writes into its tables",
    http && "`http_request` calls it",
    mail && "`send_message` sends mails by it",
  ];
  return can
    .filter(Boolean)
    .map((each) => `- ${each}`)
    .join("\n");
}

function functionTables(): string {
  return Object.entries(GROUPS)
    .map(([group, functions]) => {
      const rows = Object.entries(functions).map(([name, { takes, about, examples }]) => [
        `\`${name}(${takes})\``,
        about,
        examples.map(([text, json]) => `\`${text}\` → \`${json}\``).join("<br>"),
      ]);
      return `### ${group}\n\n${table(["function", "result", "for example"], rows)}`;
    })
    .join("\n\n");
}

function commands(): string {
  const all: Readonly<Record<string, Usage>> = usage;
  return Object.entries(all)
    .map(([name, { gist, line, verbs = {}, text }]) => {
      const calls = Object.values(verbs);
      const lines = calls.length > 0 ? calls : [line];
      return `## weir ${name}\n\n${capitalized(gist)}.\n\n\`\`\`text\n${lines.join("\n")}\n\n${text}\n\`\`\``;
    })
    .join("\n\n");
}

function operationTable(): string {
  const rows = [...operations]
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
    .map(({ method, path, audience, summary }) => [`\`${method} ${path}\``, audience, summary]);
  return table(["operation", "least role", "what it does"], rows);
}

const kindLinks = () =>
  table(
    ["kind", "what it does"],
    Object.values(executors).map(({ kind, description }) => [`[\`${kind}\`](kinds/${kind}.md)`, description]),
  );

const providerLinks = () =>
  table(
    ["provider", "what it reaches"],
    [...providers.values()].map(({ id, description }) => [`[\`${id}\`](providers/${id}.md)`, description]),
  );

const open = (name: string) => `<!-- made: ${name} -->`;
const CLOSE = "<!-- /made -->";

/** Returns the page with its generated parts. Throws if a marker is missing. */
export function withParts(text: string, { path, parts }: Page): string {
  return Object.entries(parts).reduce((whole, [name, part]) => {
    const from = whole.indexOf(open(name));
    const to = whole.indexOf(CLOSE, from);
    if (from < 0 || to < 0) throw new Error(`docs/${path} has no ${open(name)} … ${CLOSE}.`);
    return `${whole.slice(0, from + open(name).length)}\n${part}\n${whole.slice(to)}`;
  }, text);
}

const empty = ({ title, parts }: Page) =>
  `# ${title}\n\n${Object.keys(parts)
    .map(
      (name) =>
        `${name === "about" ? "" : `## ${name[0]?.toUpperCase()}${name.slice(1)}\n\n`}${open(name)}\n${CLOSE}`,
    )
    .join("\n\n")}\n`;

if (import.meta.main) {
  for (const page of await madePages()) {
    const file = join(FOLDER, page.path);
    writeFileSync(file, withParts(existsSync(file) ? readFileSync(file, "utf8") : empty(page), page));
  }
}
