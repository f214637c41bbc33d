import type { Static } from "@sinclair/typebox";
import { isObject } from "../../base/json.ts";
import type { Action, ActionPage } from "../../resources/actions/wire.ts";
import type { AgentSpec, AgentSpecPage } from "../../resources/agents/wire.ts";
import type { Run } from "../../resources/runs/wire.ts";
import type { Show } from "./setting.ts";
import { counted, expect, type Scene } from "./stage.ts";

const SLUG = "shop-analyst";
const MARKDOWN = `---
name: Shop analyst
slug: ${SLUG}
description: Answers questions from the shop's data.
tools:
  - query
  - datasets
---
You answer questions about the shop Kettle and Leaf from its data alone. Look at the tables first, add up in SQL, and answer in one or two plain sentences with the figures.
`;
const QUESTION = "Which day had the highest revenue, and how much was it?";
const POLL_MS = 200;
const PATIENCE_MS = 120_000;

/** An agent answers from the shop's data. Without a configured language model, the step says so. */
export async function askAgent({ client, clock, model }: Show, scene: Scene): Promise<void> {
  scene.facts({ model });
  if (model === null) {
    scene.tell("model", "none configured. Set WEIR_LLM_BASE_URL and WEIR_LLM_MODEL, or ANTHROPIC_API_KEY,");
    scene.tell("", "to have an agent answer a question about the shop's data.");
    return;
  }
  const { specs } = await client.get<Static<typeof AgentSpecPage>>("/api/v1/agents/specs?limit=100");
  const known = specs.find(({ slug }) => slug === SLUG);
  if (!known) await client.post<Static<typeof AgentSpec>>("/api/v1/agents/specs", { markdown: MARKDOWN });
  const { actions } = await client.get<Static<typeof ActionPage>>(
    `/api/v1/actions?q=${SLUG}&kinds=call_agent`,
  );
  const action =
    actions.find(({ slug }) => slug === SLUG) ??
    (await client.post<Static<typeof Action>>("/api/v1/actions", {
      kind: "call_agent",
      name: "Shop analyst",
      slug: SLUG,
      definition: { agent: SLUG, prompt: QUESTION },
    }));
  let run = await client.post<Static<typeof Run>>(`/api/v1/actions/${action.id}/run`);
  const until = clock.monotonic() + PATIENCE_MS;
  while (run.completedAt === null) {
    expect(clock.monotonic() < until, "The agent didn't answer within 2 minutes.");
    scene.wait(`Agent: ${run.displayStatus}`);
    await clock.sleep(POLL_MS);
    run = await client.get<Static<typeof Run>>(`/api/v1/action-runs/${run.id}`);
  }
  const result = isObject(run.result) ? run.result : {};
  const calls = Array.isArray(result.toolCalls) ? result.toolCalls.length : 0;
  scene.tell("model", model);
  scene.tell("question", QUESTION);
  scene.tell(
    "answer",
    String(result.text ?? "")
      .replaceAll(/\s+/g, " ")
      .slice(0, 300),
  );
  scene.tell("by", `${counted(calls, "tool call")}, run ${run.id}`);
  scene.facts({ question: QUESTION, answer: result.text ?? null, toolCalls: calls, runId: run.id });
  expect(run.status === "completed", `The agent failed: ${String(run.error?.message ?? run.status)}`);
}
