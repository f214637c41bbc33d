import { type Static, Type } from "@sinclair/typebox";
import { instant, nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { readUserAgent } from "../../base/user-agent.ts";
import { CLIENT_TYPES, type SessionRow } from "./table.ts";

const text = () => nullable(Type.String());

export const Session = object({
  id: uuid(),
  clientType: oneOf(CLIENT_TYPES),
  deviceId: text(),
  browserFamily: text(),
  browserVersion: text(),
  osFamily: text(),
  osVersion: text(),
  cliVersion: text(),
  terminal: text(),
  userAgent: text(),
  ipAddress: text(),
  isActive: Type.Boolean(),
  createdAt: instant(),
  lastActiveAt: instant(),
  revokedAt: nullable(instant()),
});

export const SessionList = object({ items: Type.Array(Session), nextCursor: optional(Type.String()) });

/** `now` is a timestamp. A session that has expired by then isn't active, although nobody revoked it. */
export const toSession = (row: SessionRow, now: string): Static<typeof Session> => ({
  id: row.id,
  clientType: row.clientType,
  deviceId: row.deviceId,
  ...readUserAgent(row.userAgent),
  cliVersion: row.cliVersion,
  terminal: row.terminal,
  userAgent: row.userAgent,
  ipAddress: row.ipAddress,
  isActive: row.revokedAt === null && row.expiresAt > now,
  createdAt: row.createdAt,
  lastActiveAt: row.lastActiveAt,
  revokedAt: row.revokedAt,
});

export const exampleSession: Static<typeof Session> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8060",
  clientType: "web",
  deviceId: null,
  browserFamily: "Firefox",
  browserVersion: "140.0",
  osFamily: "Linux",
  osVersion: null,
  cliVersion: null,
  terminal: null,
  userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  ipAddress: "192.0.2.7",
  isActive: true,
  createdAt: "2026-01-01T00:00:00.000Z",
  lastActiveAt: "2026-01-02T00:00:00.000Z",
  revokedAt: null,
};
