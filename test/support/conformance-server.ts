import { randomBytes } from "node:crypto";
import type { McpServerFactory, ServerContext } from "@modelcontextprotocol/server";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import type { Json } from "../../src/base/json.ts";

/** A red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/** Silence. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const state = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) });

const text = (text: string) => ({ content: [{ type: "text" as const, text }] });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, text: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text },
});
const object = (properties: Record<string, { [key: string]: Json }>, required: string[] = []) =>
  ({ type: "object", properties, required }) as never;
const ask = (message: string, properties: Record<string, { [key: string]: Json }>) =>
  inputRequired.elicit({ message, requestedSchema: object(properties, Object.keys(properties)) });
const sample = (question: string) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens: 100,
  });

const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

/** What the conformance suite expects a server to have, by name. */
export const fixedServer = async (): Promise<McpServerFactory> => () => {
  const server = new McpServer(
    { name: "fixed", version: "1" },
    {
      capabilities: {
        tools: { listChanged: false }, // As with Weir's own: clients aren't notified later.
        resources: { listChanged: false },
        prompts: { listChanged: false },
        completions: {},
        logging: {},
      },
      requestState: { verify: state.verify },
    },
  );
  addContentTools(server);
  addAskingTools(server);
  addResources(server);
  addPrompts(server);
  return server;
};

function addContentTools(server: McpServer) {
  const add = (name: string, content: object[]) =>
    server.registerTool(name, { description: `Gives ${name}` }, () => ({ content }) as never);
  add("test_simple_text", text("This is a simple text response for testing.").content);
  add("test_image_content", [image]);
  add("test_audio_content", [{ type: "audio", data: WAV, mimeType: "audio/wav" }]);
  add("test_embedded_resource", [
    resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ]);
  add("test_multiple_content_types", [
    ...text("Multiple content types test:").content,
    image,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ]);
  server.registerTool("test_error_handling", { description: "Fails" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  for (const name of ["test_tool_with_logging", "test_logging_tool"])
    server.registerTool(name, { description: "Logs" }, async ({ mcpReq }) => {
      for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"])
        await mcpReq.log("info", line);
      return text("done");
    });
  server.registerTool("test_tool_with_progress", { description: "Reports" }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined)
      for (const progress of [0, 50, 100])
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
    return text("done");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Tool with JSON Schema 2020-12 features",
      inputSchema: fromJsonSchema(SCHEMA_2020_12 as never),
    },
    () => text("done"),
  );
  server.registerTool(
    "test_custom_headers",
    {
      description: "Reads its region from a header too",
      inputSchema: fromJsonSchema(
        object({ region: { type: "string", "x-mcp-header": "Region" } }, ["region"]),
      ),
    },
    () => text("done"),
  );
}

function addAskingTools(server: McpServer) {
  const add = (name: string, answer: (context: ServerContext) => unknown) =>
    server.registerTool(`test_${name}`, { description: `Asks for ${name}` }, answer as never);
  const addInput = (name: string, answer: (context: ServerContext) => unknown) =>
    add(`input_required_result_${name}`, answer);

  const once = (key: string, request: ReturnType<typeof sample>) => (context: ServerContext) => {
    const { kind } = inputResponse(context.mcpReq.inputResponses, key);
    return kind === "missing" ? inputRequired({ inputRequests: { [key]: request } }) : text(`Got ${kind}`);
  };
  const name = ask("What is your name?", { name: { type: "string" } });
  addInput("elicitation", once("user_name", name));
  addInput("sampling", once("capital_question", sample("What is the capital of France?")));
  addInput("list_roots", once("client_roots", inputRequired.listRoots()));
  add("streaming_elicitation", once("user_name", name));

  const confirm = ask("Please confirm", { ok: { type: "boolean" } });
  const stateful = (inputRequests: Record<string, typeof confirm>) => async (context: ServerContext) => {
    if (context.mcpReq.requestState<{ round: number }>()?.round === 1) return text("state-ok");
    return inputRequired({ inputRequests, requestState: await state.mint({ round: 1 }) });
  };
  addInput("request_state", stateful({ confirm }));
  addInput("tampered_state", stateful({ confirm }));
  addInput(
    "multiple_inputs",
    stateful({
      user_name: name,
      greeting: sample("Generate a greeting"),
      client_roots: inputRequired.listRoots(),
    }),
  );
  addInput("multi_round", async ({ mcpReq }) => {
    const round = (mcpReq.requestState<{ round: number }>()?.round ?? 0) + 1;
    if (round === 3) return text("Both are answered");
    return inputRequired({
      inputRequests: { [`step${round}`]: ask(`Step ${round}`, { answer: { type: "string" } }) },
      requestState: await state.mint({ round }),
    });
  });
  const capabilities = ({ mcpReq }: ServerContext): object =>
    (mcpReq.envelope as Record<string, object> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
  addInput("capabilities", (context) =>
    inputRequired({
      inputRequests: {
        ...("sampling" in capabilities(context) ? { question: sample("Why?") } : {}),
        ...("elicitation" in capabilities(context) ? { user_name: name } : {}),
      },
    }),
  );
  add("missing_capability", () => inputRequired({ inputRequests: { question: sample("Why?") } }));
}

function addResources(server: McpServer) {
  server.registerResource(
    "text",
    "test://static-text",
    { description: "A text", mimeType: "text/plain" },
    ({ href: uri }) => ({
      contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
    }),
  );
  server.registerResource(
    "binary",
    "test://static-binary",
    { description: "An image", mimeType: "image/png" },
    ({ href: uri }) => ({ contents: [{ uri, mimeType: "image/png", blob: PNG }] }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "One of many", mimeType: "application/json" },
    ({ href: uri }, { id }) => ({
      contents: [
        {
          uri,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );
}

function addPrompts(server: McpServer) {
  const says = (...contents: object[]) =>
    ({ messages: contents.map((content) => ({ role: "user", content })) }) as never;
  const said = (text: string) => ({ type: "text", text });
  const argsOf = (...names: string[]) =>
    fromJsonSchema<Record<string, string>>(
      object(Object.fromEntries(names.map((name) => [name, { type: "string" }])), names),
    );
  server.registerPrompt("test_simple_prompt", { description: "One text" }, () =>
    says(said("This is a simple prompt for testing.")),
  );
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Two arguments", argsSchema: argsOf("arg1", "arg2") },
    ({ arg1, arg2 }) => says(said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A resource", argsSchema: argsOf("resourceUri") },
    ({ resourceUri }) =>
      says(
        resource(resourceUri ?? "", "text/plain", "Embedded resource content for testing."),
        said("Please process the embedded resource above."),
      ),
  );
  server.registerPrompt("test_prompt_with_image", { description: "An image" }, () =>
    says(image, said("Please analyze the image above.")),
  );
  const context = ask("What context should the prompt use?", { context: { type: "string" } });
  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks first" },
    ({ mcpReq }: ServerContext) =>
      inputResponse(mcpReq.inputResponses, "user_context").kind === "missing"
        ? (inputRequired({ inputRequests: { user_context: context } }) as never)
        : says(said("With context")),
  );
  server.server.setRequestHandler("completion/complete", () => ({
    completion: { values: ["paris", "park", "party"], total: 3, hasMore: false },
  }));
}
