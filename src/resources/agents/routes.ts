import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import {
  createAgentSpec,
  deleteAgentSpec,
  findAgentSpec,
  listAgentSpecs,
  markdownFaults,
  updateAgentSpec,
} from "./service.ts";
import {
  AgentSpec,
  AgentSpecInput,
  AgentSpecPage,
  AgentSpecQuery,
  exampleAgentSpec,
  exampleMarkdown,
  toAgentSpec,
} from "./wire.ts";

const tag = "Agents";
const params = object({ spec_id: uuid() });
const example = exampleAgentSpec;

export const agentOperations = [
  operation({
    method: "GET",
    path: "/api/v1/agents/specs",
    audience: "viewer",
    tag,
    summary: "List agents",
    query: AgentSpecQuery,
    response: AgentSpecPage,
    example: { specs: [example], total: 1 },
    async handle({ ctx, query }) {
      const { rows, total } = await listAgentSpecs(ctx, query);
      return { specs: rows.map(toAgentSpec), total };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/agents/specs",
    audience: "member",
    tag,
    summary: "Create an agent",
    description: "From Markdown with YAML front matter.",
    body: AgentSpecInput,
    bodyExample: { markdown: exampleMarkdown },
    faults: (_, raw) => markdownFaults(raw),
    status: 201,
    response: AgentSpec,
    idempotent: true,
    errors: [409],
    example,
    handle: async ({ ctx, body }) => toAgentSpec(await createAgentSpec(ctx, body.markdown)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/agents/specs/{spec_id}",
    audience: "viewer",
    tag,
    summary: "Get an agent",
    params,
    response: AgentSpec,
    errors: [404],
    example,
    handle: async ({ ctx, params }) => toAgentSpec(await findAgentSpec(ctx, params.spec_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/agents/specs/{spec_id}",
    audience: "member",
    tag,
    summary: "Update an agent",
    description: "Replaces the Markdown. The slug is kept unless the front matter sets another.",
    params,
    body: AgentSpecInput,
    bodyExample: { markdown: exampleMarkdown },
    faults: (_, raw) => markdownFaults(raw),
    response: AgentSpec,
    errors: [404, 409],
    example,
    handle: async ({ ctx, params, body }) =>
      toAgentSpec(await updateAgentSpec(ctx, params.spec_id, body.markdown)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/agents/specs/{spec_id}",
    audience: "member",
    tag,
    summary: "Delete an agent",
    description: "Its threads stay readable.",
    params,
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => deleteAgentSpec(ctx, params.spec_id),
  }),
];
