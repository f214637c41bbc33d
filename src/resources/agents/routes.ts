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
    summary: "Lists agents, newest first",
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
    summary: "Creates an agent from Markdown with YAML front matter",
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
    summary: "Shows one agent",
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
    summary: "Replaces an agent's text",
    description: "The slug stays as it is unless the front matter gives another.",
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
    summary: "Deletes an agent; threads with it stay readable",
    params,
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => deleteAgentSpec(ctx, params.spec_id),
  }),
];
