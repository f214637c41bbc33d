import { type Static, Type } from "@sinclair/typebox";
import { instant, nullable, object, optional } from "../../base/shape.ts";
import type { DeviceCodeRow } from "./table.ts";

/** Visible ASCII, as RFC 6749 defines client IDs: other scripts have lookalike letters. */
const clientId = () =>
  Type.String({ minLength: 1, maxLength: 100, pattern: "^[\\x21-\\x7e][\\x20-\\x7e]*$" });

export const DeviceRequest = object({
  client_id: clientId(),
  scope: optional(
    Type.String({
      maxLength: 1000,
      description: "Accepted and ignored: a session has all permissions of its user.",
    }),
  ),
});

export const DeviceAuthorization = object({
  device_code: Type.String({ description: "Code that the client polls with. Keep it secret" }),
  user_code: Type.String({
    description: "Code that the user enters on the page. Case and hyphens are ignored",
  }),
  verification_uri: Type.String(),
  verification_uri_complete: Type.String(),
  expires_in: Type.Integer({ description: "Seconds until the codes expire" }),
  interval: Type.Integer({ description: "Seconds to wait between two polls" }),
});

export const exampleDeviceAuthorization: Static<typeof DeviceAuthorization> = {
  device_code: "9XcVl7…",
  user_code: "WDJB-MJHT",
  verification_uri: "https://weir.example.com/device",
  verification_uri_complete: "https://weir.example.com/device?user_code=WDJB-MJHT",
  expires_in: 900,
  interval: 5,
};

export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** Other required fields are checked once the grant type is known. */
export const TokenRequest = object({
  grant_type: Type.String({ maxLength: 200, description: `Always \`${DEVICE_GRANT}\`.` }),
  device_code: optional(Type.String({ maxLength: 200, description: "Required." })),
  client_id: optional(
    Type.String({ maxLength: 100, description: "Required: ID of the client that requested the codes." }),
  ),
});

export const AccessTokenReply = object({
  access_token: Type.String(),
  token_type: Type.Literal("Bearer"),
  expires_in: Type.Integer({ description: "Seconds until the token expires, counted again from each use" }),
});

export const exampleTokenReply: Static<typeof AccessTokenReply> = {
  access_token: "svc_at_…",
  token_type: "Bearer",
  expires_in: 1_209_600,
};

const userCode = () => Type.String({ minLength: 1, maxLength: 40 });

export const DeviceQuery = object({ user_code: userCode() });
export const DeviceDecision = object({
  userCode: userCode(),
  approve: Type.Boolean({ description: "True approves the client, false denies it" }),
});

/** What a user sees before they decide. */
export const WaitingDevice = object({
  userCode: Type.String(),
  clientId: Type.String(),
  ipAddress: nullable(Type.String()),
  userAgent: nullable(Type.String()),
  createdAt: instant(),
  expiresAt: instant(),
});

export const toWaitingDevice = (row: DeviceCodeRow, code: string): Static<typeof WaitingDevice> => ({
  userCode: code,
  clientId: row.clientId,
  ipAddress: row.ipAddress,
  userAgent: row.userAgent,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
});

export const exampleWaitingDevice: Static<typeof WaitingDevice> = {
  userCode: "WDJB-MJHT",
  clientId: "weir-cli",
  ipAddress: "192.0.2.7",
  userAgent: "weir/0.1.0 (Linux; xterm-256color)",
  createdAt: "2026-01-01T00:00:00.000Z",
  expiresAt: "2026-01-01T00:15:00.000Z",
};
