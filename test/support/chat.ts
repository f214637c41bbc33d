import {
  parseJsonEventStream,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from "ai";
import { startModel } from "../peers/model.ts";
import { type StartOptions, startApp } from "./app.ts";
import { created } from "./work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

export const THREADS = "/api/v1/chat/threads";
export const SPECS = "/api/v1/agents/specs";

export const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
};

/** A server whose model follows `script`. */
export async function startChat(
  script: Parameters<typeof startModel>[0],
  options: StartOptions = {},
  models: readonly object[] = [],
) {
  const peer = await startModel(script, models);
  const app = await startApp({ ...options, env: { ...peer.env, ...options.env } });
  return {
    app,
    peer,
    heard: peer.heard,
    play: peer.play,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    },
  };
}

export type Chat = Awaited<ReturnType<typeof startChat>>;

let count = 0;

/** An agent with these tools, and a thread with it. */
export async function makeThread(
  { app }: { app: Pick<Started, "owner"> },
  front: string | string[] = [],
  call = app.owner,
) {
  const more = Array.isArray(front) ? `tools: [${front.map((tool) => `'${tool}'`).join(", ")}]` : front;
  const markdown = `---\nname: Agent ${++count}\n${more}\n---\nYou answer in one sentence.\n`;
  const spec = created(await call("POST", SPECS, { markdown }));
  const thread = created(await call("POST", THREADS, { agentSpecId: spec.id }));
  return { spec, thread, at: `${THREADS}/${thread.id}` };
}

/** The response to a turn, with its stream unread. */
export const open = (
  { app }: { app: Pick<Started, "origin" | "token"> },
  at: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${app.origin}${at}/turns/stream`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${app.token}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

export interface Streamed {
  text: string;
  chunks: UIMessageChunk[];
  types: string[];
  /** The message as a client of the AI SDK builds it. */
  message: UIMessage;
}

/** Reads a stream to its end: each chunk by the AI SDK's own schema, in the frames that it expects. */
export async function readStream(reply: Response): Promise<Streamed> {
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
  const text = await reply.text();
  for (const [name, value] of Object.entries(HEADERS))
    if (reply.headers.get(name) !== value) throw new Error(`${name} is ${reply.headers.get(name)}`);
  const events = text.split("\n\n").filter((event) => event !== "");
  for (const event of events)
    if (!/^(: ka|data: (\[DONE\]|\{[^\n]*\}))$/.test(event)) throw new Error(`A bad frame: ${event}`);
  if (events.at(-1) !== "data: [DONE]") throw new Error(`It ends with ${events.at(-1)}`);
  return { text, ...(await understand(text)) };
}

/** What a client makes of a stream's bytes. */
export async function understand(text: string): Promise<Omit<Streamed, "text">> {
  const parsed = parseJsonEventStream({
    stream: new Blob([text]).stream() as ReadableStream<Uint8Array<ArrayBuffer>>,
    schema: uiMessageChunkSchema,
  });
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of parsed as unknown as AsyncIterable<
    { success: true; value: UIMessageChunk } | { success: false; error: Error }
  >) {
    if (!chunk.success) throw chunk.error;
    chunks.push(chunk.value);
  }
  const source = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: UIMessage = { id: "", role: "assistant", parts: [] };
  const errors: unknown[] = [];
  for await (const state of readUIMessageStream({ stream: source, onError: (error) => errors.push(error) }))
    message = state;
  const told = chunks.flatMap((chunk) => (chunk.type === "error" ? [chunk.errorText] : []));
  const unforeseen = errors.filter((error) => !told.includes((error as Error).message));
  if (unforeseen.length > 0) throw unforeseen[0];
  return { chunks, types: chunks.map(({ type }) => type), message: plain(message) };
}

/** Without undefined fields, which aren't sent. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** Sends a message, reads the whole answer, and compares it with what is stored. */
export async function ask(chat: { app: Started }, at: string, body: unknown = { content: "Hello?" }) {
  const streamed = await readStream(await open(chat, at, body));
  return { ...streamed, ...(await stored(chat, at, streamed)) };
}

/**
 * The stored thread.
 * Its last reply must be the message that the client built from the stream, and its text that of the deltas.
 */
export async function stored({ app }: { app: Started }, at: string, streamed?: Omit<Streamed, "text">) {
  const { body: thread } = await app.owner("GET", at);
  const { body: list } = await app.owner("GET", `${at}/messages?limit=200`);
  const reply = list.items.findLast(({ role }: { role: string }) => role === "assistant");
  if (streamed) {
    if (!Bun.deepEquals(plain(reply.rawData), streamed.message))
      throw new Error(
        `The client has ${JSON.stringify(streamed.message)}\nand the store ${JSON.stringify(reply.rawData)}`,
      );
    const said = streamed.chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
    if (said !== reply.content) throw new Error(`The deltas say ${said}, and the store ${reply.content}`);
  }
  return { thread, messages: list.items, reply };
}
