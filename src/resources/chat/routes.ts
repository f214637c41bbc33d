import { object, uuid } from "../../base/shape.ts";
import { operation, Reply } from "../../http/operation.ts";
import { chunkStream } from "../../http/stream.ts";
import { beginTurn } from "./begin.ts";
import { endTurn } from "./cancel.ts";
import { streamOf } from "./follow.ts";
import { readTimezone } from "./input.ts";
import {
  createThread,
  deleteThread,
  deleteThreads,
  findThread,
  listMessages,
  listThreads,
  updateThread,
} from "./threads.ts";
import {
  BulkDelete,
  BulkDeleted,
  MessagePage,
  MessageQuery,
  Thread,
  ThreadCreate,
  ThreadPage,
  ThreadPatch,
  ThreadQuery,
  TurnCancel,
  TurnInput,
  toMessage,
  toThread,
} from "./wire.ts";

const tag = "Chat";
const params = object({ thread_id: uuid() });
const THREADS = "/api/v1/chat/threads";
const THREAD = `${THREADS}/{thread_id}`;
const agentSpecId = "01890a5d-ac96-774b-bcce-b302099a8061";

/** A thread is a person's own: nobody else sees it, whatever the role. */
const own = { personal: true, tag } as const;

export const chatOperations = [
  operation({
    ...own,
    method: "GET",
    path: THREADS,
    audience: "viewer",
    summary: "Lists the caller's threads, newest first",
    query: ThreadQuery,
    response: ThreadPage,
    errors: [410],
    async handle({ ctx, query }) {
      const { rows, ...next } = await listThreads(ctx, query);
      return { items: rows.map(toThread), ...next };
    },
  }),
  operation({
    ...own,
    method: "POST",
    path: THREADS,
    audience: "member",
    summary: "Begins a thread with an agent",
    body: ThreadCreate,
    bodyExample: { agentSpecId },
    status: 201,
    response: Thread,
    idempotent: true,
    errors: [409],
    handle: async ({ ctx, body }) => toThread(await createThread(ctx, body)),
  }),
  operation({
    ...own,
    method: "POST",
    path: `${THREADS}/bulk-delete`,
    audience: "member",
    summary: "Deletes several threads of the caller, or all",
    body: BulkDelete,
    response: BulkDeleted,
    handle: async ({ ctx, body }) => ({ deletedCount: await deleteThreads(ctx, body) }),
  }),
  operation({
    ...own,
    method: "GET",
    path: THREAD,
    audience: "viewer",
    summary: "Shows one thread",
    params,
    response: Thread,
    errors: [404],
    handle: async ({ ctx, params }) => toThread(await findThread(ctx, params.thread_id)),
  }),
  operation({
    ...own,
    method: "PATCH",
    path: THREAD,
    audience: "member",
    summary: "Changes the fields that are given",
    params,
    body: ThreadPatch,
    response: Thread,
    errors: [404],
    handle: async ({ ctx, params, body }) => toThread(await updateThread(ctx, params.thread_id, body)),
  }),
  operation({
    ...own,
    method: "DELETE",
    path: THREAD,
    audience: "member",
    summary: "Deletes a thread with all that was said in it",
    params,
    status: 204,
    errors: [404],
    handle: ({ ctx, params }) => deleteThread(ctx, params.thread_id),
  }),
  operation({
    ...own,
    method: "GET",
    path: `${THREAD}/messages`,
    audience: "viewer",
    summary: "Lists what was said in a thread, in order; of a reply under way what has come so far",
    params,
    query: MessageQuery,
    response: MessagePage,
    errors: [404, 410],
    async handle({ ctx, params, query }) {
      const { rows, ...next } = await listMessages(ctx, params.thread_id, query);
      return { items: rows.map(toMessage), ...next };
    },
  }),
  operation({
    ...own,
    method: "POST",
    path: `${THREAD}/turns/stream`,
    audience: "member",
    summary: "Asks the agent, and streams its answer",
    description:
      "The reply is the AI SDK's UI message stream (`x-vercel-ai-ui-message-stream: v1`). The turn goes on when the client goes; GET takes its stream up again. `X-User-Timezone`, an IANA name, tells the agent where the person is. Of `messages` only the last one counts.",
    params,
    body: TurnInput,
    bodyExample: { content: "How many orders came in yesterday?" },
    produces: "text/event-stream",
    errors: [404, 409, 429, 503],
    async handle({ ctx, params, body, visit }) {
      const timezone = readTimezone(visit.request.headers.get("x-user-timezone"));
      const live = await beginTurn(ctx, params.thread_id, body, timezone);
      return chunkStream(visit, (signal) => live.follow(signal));
    },
  }),
  operation({
    ...own,
    method: "GET",
    path: `${THREAD}/turns/stream`,
    audience: "viewer",
    summary: "Takes up the stream of the turn that is under way, from its start",
    params,
    produces: "text/event-stream",
    errors: [404],
    replies: { 204: { description: "No turn is under way." } },
    async handle({ ctx, params, visit }) {
      const thread = await findThread(ctx, params.thread_id);
      const stream = await streamOf(ctx, thread);
      return stream ? chunkStream(visit, stream) : new Reply(204, null);
    },
  }),
  operation({
    ...own,
    method: "POST",
    path: `${THREAD}/turns/cancel`,
    audience: "member",
    summary: "Ends the turn that is under way, and keeps what was seen of it",
    description: "Where no turn is under way, nothing happens.",
    params,
    body: TurnCancel,
    bodyOptional: true,
    status: 204,
    errors: [404],
    async handle({ ctx, params, body }) {
      const thread = await findThread(ctx, params.thread_id);
      if (thread.activeTurnId !== null) await endTurn(ctx, thread, body?.partialText ?? null);
    },
  }),
];
