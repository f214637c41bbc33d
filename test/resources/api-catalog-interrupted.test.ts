import { expect, test } from "bun:test";
import { ECHO, startModern } from "../peers/mcp-modern.ts";
import { addMcp, mcpApi } from "../support/catalog.ts";
import { startInstallation } from "../support/process.ts";
import { ACTIONS, created, makeAction, RUNS, runEnd } from "../support/work.ts";

test("a tool that writes isn't called again after the server was killed during the call", async () => {
  const names: string[] = [];
  let isHeld = true;
  const rest = Promise.withResolvers<void>();
  const tools = ["write", "read", "set"].map((name) => ({
    ...ECHO,
    name,
    annotations: { readOnlyHint: name === "read", idempotentHint: name === "set" },
  }));
  const server = startModern({
    tools,
    async guard(_, name) {
      if (name === null) return null;
      names.push(name);
      if (isHeld) await rest.promise;
      return null;
    },
  });
  await using place = await startInstallation();
  let weir = await place.serve();
  const all = tools.map(({ name, ...more }) => ({ upstreamName: name, ...more }));
  const entry = mcpApi("Tools", { url: server.url, tools: all });
  const { id: apiId } = await addMcp(weir.owner, entry);
  const start = async (tool: string) => {
    const api = { apiId, tool, arguments: { text: "x" } };
    const action = await makeAction(weir.owner, { kind: "http_request", name: tool, definition: { api } });
    return created(await weir.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
  };
  const ids = await Promise.all(["write", "read", "set"].map(start));
  while (names.length < 3) await Bun.sleep(10);
  await weir.end("SIGKILL");
  isHeld = false;
  rest.resolve();

  weir = await place.serve();
  const ends = await Promise.all(ids.map((id) => runEnd(weir.owner, id)));
  expect(ends.map(({ status, error }) => [status, error?.code ?? null])).toEqual([
    ["failed", "interrupted"],
    ["completed", null],
    ["completed", null],
  ]);
  expect(ends[0].error).toMatchObject({
    message: expect.stringContaining("may already have been done"),
    retryable: false,
  });
  expect(names.sort()).toEqual(["read", "read", "set", "set", "write"]);
  const again = created(await weir.owner("POST", `${RUNS}/${ids[0]}/retry`));
  expect((await runEnd(weir.owner, again.id)).status).toBe("completed");
  expect(names.filter((name) => name === "write")).toHaveLength(2);
  await server.stop();
}, 120_000);
