import { faultsThrownBy } from "../../base/errors.ts";
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

/** A thread is private to its user, regardless of the roles of others. */
const own = { personal: true, tag } as const;

export const chatOperations = [
  operation({
    ...own,
    method: "GET",
    path: THREADS,
    audience: "viewer",
    summary: "List your threads",
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
    summary: "Create a thread",
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
    summary: "Delete several threads",
    description: "The named ones, or all of the caller's.",
    body: BulkDelete,
    response: BulkDeleted,
    handle: async ({ ctx, body }) => ({ deletedCount: await deleteThreads(ctx, body) }),
  }),
  operation({
    ...own,
    method: "GET",
    path: THREAD,
    audience: "viewer",
    summary: "Get a thread",
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
    summary: "Update a thread",
    description: "Changes only the fields in the body.",
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
    summary: "Delete a thread",
    description: "With all of its messages.",
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
    summary: "List messages",
    description: "In order. A reply in progress is included as far as it has been generated.",
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
    summary: "Start a turn (streamed)",
    description:
      "The response is an AI SDK UI message stream (`x-vercel-ai-ui-message-stream: v1`). The turn continues if the client disconnects; GET resumes the stream. Only the last of `messages` is used.",
    params,
    headers: ["UserTimezone"],
    body: TurnInput,
    furtherFaults: ({ visit }) =>
      faultsThrownBy(() => readTimezone(visit.request.headers.get("x-user-timezone"))),
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
    summary: "Resume the turn's stream",
    description: "Replays the turn in progress from its start.",
    params,
    produces: "text/event-stream",
    errors: [404],
    replies: { 204: { description: "No turn is in progress." } },
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
    summary: "Cancel the turn",
    description: "Keeps what was generated until then. Does nothing if no turn is in progress.",
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
