import { type Static, Type } from "@sinclair/typebox";
import {
  described,
  exemplified,
  instant,
  jsonObject,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  typed,
  uuid,
} from "../../base/shape.ts";
import type { AgentSpecRow } from "./table.ts";

export const AgentSpec = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  description: nullable(Type.String()),
  frontmatter: jsonObject(),
  markdown: Type.String(),
  createdAt: instant(),
  createdBy: nullable(uuid()),
  updatedAt: instant(),
  updatedBy: nullable(uuid()),
});

export const DEFAULT_MAX_STEPS = 10;

export const FrontMatter = typed(
  "AgentFrontMatter",
  object({
    name: described("Name that people read", exemplified(["Sales analyst"], named())),
    slug: optional(described("Name in commands and references. Default: derived from the name", slug())),
    description: optional(
      described(
        "What the agent is for",
        nullable(Type.String({ maxLength: 2048, examples: ["Answers questions about orders"] })),
      ),
    ),
    model: optional(
      described(
        "Model to use. Default: the server's",
        nullable(Type.String({ minLength: 1, maxLength: 200, pattern: "^\\S+$", examples: ["gpt-5-mini"] })),
      ),
    ),
    temperature: optional(
      described(
        "Sampling temperature. Default: the model's own",
        nullable(Type.Number({ minimum: 0, maximum: 2, examples: [0.2] })),
      ),
    ),
    maxSteps: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: DEFAULT_MAX_STEPS,
      description: "Maximum number of steps for one answer",
    }),
    tools: Type.Array(Type.String({ minLength: 1, maxLength: 300, examples: ["query"] }), {
      maxItems: 64,
      default: [],
      description:
        "Tools that the agent can use: query, datasets, web_search, fetch_page, api:NAME, action:SLUG, automation:SLUG, connection:SLUG",
      examples: [["query", "datasets"]],
    }),
  }),
);
export type FrontMatter = Static<typeof FrontMatter>;

export const AgentSpecInput = object({
  markdown: Type.String({
    minLength: 1,
    maxLength: 200_000,
    description:
      "YAML front matter between two lines of `---` (name, slug, description, model, temperature, maxSteps, tools), then the system prompt. " +
      "Tools are query, datasets, web_search, fetch_page, api:NAME, action:SLUG, automation:SLUG and connection:SLUG.",
  }),
});

export const AgentSpecQuery = object({
  q: optional(Type.String({ maxLength: 255 })),
  ...offsetQuery(100),
  owner_scope: oneOf(["me", "organization"], {
    default: "organization",
    description: "`organization`: all agents. `me`: only agents that the caller created",
  }),
});
export type AgentSpecQuery = Static<typeof AgentSpecQuery>;

export const AgentSpecPage = object({ specs: Type.Array(AgentSpec), total: Type.Integer() });

export const toAgentSpec = (row: AgentSpecRow): Static<typeof AgentSpec> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  description: row.description,
  frontmatter: row.frontmatter,
  markdown: row.markdown,
  createdAt: row.createdAt,
  createdBy: row.createdBy,
  updatedAt: row.updatedAt,
  updatedBy: row.updatedBy,
});

export const exampleMarkdown = `---
name: Sales analyst
description: Answers questions about orders
temperature: 0.2
tools:
  - query
  - datasets
---
You answer questions about the shop's orders. Say where each number comes from.
`;

export const exampleAgentSpec: Static<typeof AgentSpec> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8061",
  name: "Sales analyst",
  slug: "sales-analyst",
  description: "Answers questions about orders",
  frontmatter: {
    name: "Sales analyst",
    description: "Answers questions about orders",
    temperature: 0.2,
    tools: ["query", "datasets"],
  },
  markdown: exampleMarkdown,
  createdAt: "2026-01-01T00:00:00.000Z",
  createdBy: "01890a5d-ac96-774b-bcce-b302099a8062",
  updatedAt: "2026-01-01T00:00:00.000Z",
  updatedBy: "01890a5d-ac96-774b-bcce-b302099a8062",
};
