import { Type } from "@sinclair/typebox";
import { timestamp } from "../../base/clock.ts";
import { cursorQuery, object, uuid } from "../../base/shape.ts";
import { clearedCookie } from "../../http/cookie.ts";
import { operation, Reply } from "../../http/operation.ts";
import { listSessions, revokeSession, revokeSessions } from "./service.ts";
import { exampleSession, SessionList, toSession } from "./wire.ts";

const tag = "Sessions";

export const sessionOperations = [
  operation({
    method: "GET",
    path: "/api/v1/sessions",
    audience: "any",
    personal: true,
    tag,
    summary: "List your sessions",
    query: object({
      includeRevoked: Type.Boolean({ default: false, description: "Whether to include revoked sessions" }),
      ...cursorQuery(50, 200),
    }),
    response: SessionList,
    errors: [410],
    example: { items: [exampleSession] },
    handle: async ({ ctx, query }) => {
      const { rows, ...next } = await listSessions(ctx, query);
      const now = timestamp(ctx.clock);
      return { items: rows.map((row) => toSession(row, now)), ...next };
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/sessions",
    audience: "any",
    personal: true,
    tag,
    summary: "End your sessions",
    description: "By default all but the current one.",
    query: object({
      exclude_current: Type.Boolean({ default: true, description: "Whether the current session is kept" }),
    }),
    response: object({ revokedCount: Type.Integer() }),
    example: { revokedCount: 2 },
    handle: async ({ ctx, query, identity, visit }) => {
      const current = identity.kind === "session" ? identity.credentialId : null;
      const keptId = query.exclude_current ? current : null;
      const revokedCount = await revokeSessions(ctx, { userId: identity.userId, keptId });
      const isGone = identity.carrier === "cookie" && keptId === null;
      return new Reply(200, { revokedCount }, isGone ? clearedCookie(visit.isSecure) : {});
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/sessions/{session_id}",
    audience: "any",
    personal: true,
    tag,
    summary: "End a session",
    params: object({ session_id: uuid() }),
    status: 204,
    errors: [404],
    handle: async ({ ctx, params, identity, visit }) => {
      await revokeSession(ctx, params.session_id, "revoked");
      const isGone = identity.carrier === "cookie" && identity.credentialId === params.session_id;
      return new Reply(204, null, isGone ? clearedCookie(visit.isSecure) : {});
    },
  }),
];
