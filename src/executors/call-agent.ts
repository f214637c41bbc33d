import { type Static, Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { parseLossless } from "../base/json-numbers.ts";
import { schemaFaults, valueFaults } from "../base/json-schema.ts";
import { anything, described, jsonSchema, object, optional } from "../base/shape.ts";
import { isWholeTemplate } from "../base/template.ts";
import { type ReportedCall, runAgent } from "../models/agent.ts";
import type { ModelMessage, OpenAgent } from "../models/contract.ts";
import { cutOff } from "../models/failure.ts";
import { type Fit, fitted } from "../models/fit.ts";
import { defineExecutor, type RunContext } from "./contract.ts";

const Definition = object({
  agent: Type.String({ minLength: 1, maxLength: 200, description: "ID or slug of the agent" }),
  prompt: described("Message to the agent", Type.String({ minLength: 1, maxLength: 400_000 })),
  outputSchema: optional(
    jsonSchema({ description: "JSON Schema of the answer. If omitted, the answer is text" }),
  ),
  maxSteps: optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: "Maximum number of steps. Default: the agent's own maximum",
    }),
  ),
});
type Definition = Static<typeof Definition>;

/** Maximum length of what a warning says of a failed call. */
const MAX_FAULT_CHARACTERS = 500;

const Usage = object({ inputTokens: Type.Integer(), outputTokens: Type.Integer() });

/**
 * Has an agent answer one prompt, with its tools. Nobody can approve calls during a run: those that need approval are
 * rejected, which the agent can see.
 *
 * A second attempt asks again, and runs what the tools run again. Don't configure retries for an agent that runs
 * actions.
 */
export const callAgent = defineExecutor({
  kind: "call_agent",
  isInside: true, // its tools ask on their own; another agent's answer counts as data
  title: "Call an agent",
  description: "Has an agent answer a prompt with its tools, as text or as JSON that matches a schema.",
  providers: [],
  hasEffects: () => false,
  definition: Definition,
  result: object({
    text: Type.String(),
    output: anything(),
    steps: Type.Integer(),
    toolCalls: Type.Array(
      object({ id: Type.String(), name: Type.String(), input: anything(), isError: Type.Boolean() }),
    ),
    usage: Usage,
    warnings: optional(
      Type.Array(Type.String(), {
        description:
          "Tool calls that were refused or failed, and parts of the conversation shortened or left out for the model. Omitted if there are none.",
      }),
    ),
  }),

  check({ outputSchema }: Partial<Definition>) {
    if (outputSchema === undefined || isWholeTemplate(outputSchema)) return [];
    return schemaFaults(outputSchema).map(({ path, message }) => ({
      path: ["outputSchema", ...path],
      message,
    }));
  },

  async execute(ctx, { agent: named, prompt, outputSchema, maxSteps }) {
    const opened = await ctx.agent(named);
    for (const warning of opened.warnings) ctx.log("warn", warning);
    const agent: OpenAgent = {
      ...opened,
      maxSteps: maxSteps ?? opened.maxSteps,
      system: outputSchema ? `${opened.system}\n\n${shapeIn(outputSchema)}` : opened.system,
    };
    const talk = openTalk(ctx, agent, prompt);
    const first = await talk.go(agent, outputSchema ?? null);
    if (!outputSchema) return { result: { ...talk.facts(), text: first, output: null } };
    const read = readOutput(first, outputSchema);
    if ("output" in read) return { result: { ...talk.facts(), text: first, output: read.output } };

    ctx.log("warn", `The answer doesn't match its schema, and is requested again: ${read.fault}`);
    talk.say(first, `That does not fit: ${read.fault}\nGive the whole answer again, as JSON alone.`);
    const { steps } = talk.facts();
    const second = await talk
      .go({ ...agent, tools: [], maxSteps: steps + 1 }, outputSchema)
      .catch((error) => {
        if (error instanceof AppError && error.code === "too_many_steps") throw misfit("it calls a tool");
        throw error;
      });
    const again = readOutput(second, outputSchema);
    if ("output" in again) return { result: { ...talk.facts(), text: second, output: again.output } };
    throw misfit(again.fault, { text: second.slice(0, 2_000) });
  },
});

const misfit = (fault: string, details?: JsonObject) =>
  new AppError("output_invalid", `The agent's answer doesn't match outputSchema: ${fault}`, { details });

const shapeIn = (schema: JsonObject) =>
  `Answer with JSON alone, without any words around it, that fits this JSON Schema:\n${JSON.stringify(schema)}`;

/** A conversation with the agent, and what to report about it. */
function openTalk(ctx: RunContext, { maxSteps }: OpenAgent, prompt: string) {
  const messages: ModelMessage[] = [{ role: "user", content: prompt }];
  const toolCalls: { id: string; name: string; input: Json; isError: boolean }[] = [];
  const usage = { inputTokens: 0, outputTokens: 0 };
  const { model, signal } = ctx;
  const warnings: string[] = [];
  const warn = (note: string) => {
    if (warnings.includes(note)) return;
    warnings.push(note);
    ctx.log("warn", note);
  };
  const fit: Fit = {
    ...ctx.modelRoom,
    summary: null,
    keep: async () => undefined, // the conversation ends with the run, and `fit` holds it until then
    tell: warn,
  };
  let steps = 0;
  const called = async ({ id, tool, input, isError, fault = "" }: ReportedCall) => {
    toolCalls.push({ id, name: tool, input, isError });
    if (isError) warn(`A call of ${tool} has no result: ${fault.slice(0, MAX_FAULT_CHARACTERS)}`);
    else ctx.log("info", `The agent called ${tool}.`);
  };
  return {
    async go(agent: OpenAgent, outputSchema: JsonObject | null): Promise<string> {
      const end = await runAgent({
        model,
        agent,
        messages,
        fit: (request) => fitted(request, { model, fit, signal }),
        outputSchema: agent.tools.length === 0 ? outputSchema : null,
        stepsBefore: steps,
        ids: ctx.ids,
        signal,
        canAsk: false,
        tell(chunk) {
          if (chunk.type !== "start-step") return;
          ctx.progress({ phase: "agent", current: ++steps, total: maxSteps, unit: "steps" });
        },
        called,
        report: () => ctx.log("error", "A tool failed unexpectedly."),
      });
      usage.inputTokens += end.usage.inputTokens;
      usage.outputTokens += end.usage.outputTokens;
      if (end.status === "done") {
        const cut = cutOff(end.reason);
        if (cut) throw cut;
        return end.text;
      }
      throw new AppError("internal", "An agent in a run can't wait for a person.");
    },
    say(answer: string, reply: string) {
      messages.push({ role: "assistant", content: answer, calls: [] }, { role: "user", content: reply });
    },
    facts: () => ({ steps, toolCalls, usage, ...(warnings.length > 0 ? { warnings } : {}) }),
  };
}

function readOutput(text: string, schema: JsonObject): { output: Json } | { fault: string } {
  const [, fenced] = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(text) ?? [];
  let output: Json;
  try {
    output = parseLossless(fenced ?? text);
  } catch {
    return { fault: "it is not JSON" };
  }
  const faults = valueFaults(schema, output).slice(0, 10);
  if (faults.length === 0) return { output };
  return {
    fault: faults.map(({ path, message }) => `${["answer", ...path].join(".")}: ${message}`).join("; "),
  };
}
