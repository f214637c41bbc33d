import { Type } from "@sinclair/typebox";
import { OAuthError } from "../../base/errors.ts";
import { object } from "../../base/shape.ts";
import { requireFreshSignIn } from "../../http/fresh.ts";
import { openOperation, operation } from "../../http/operation.ts";
import { visitorOf } from "../../http/visit.ts";
import { pollForToken } from "./poll.ts";
import { CODE_SECONDS, decide, findWaiting, INTERVAL_SECONDS, requestCodes } from "./service.ts";
import {
  AccessTokenReply,
  DEVICE_GRANT,
  DeviceAuthorization,
  DeviceDecision,
  DeviceQuery,
  DeviceRequest,
  exampleDeviceAuthorization,
  exampleTokenReply,
  exampleWaitingDevice,
  TokenRequest,
  toWaitingDevice,
  WaitingDevice,
} from "./wire.ts";

const tag = "Device sign-in";

const OAuthProblem = object({ error: Type.String(), error_description: Type.String() });

/** Errors as in RFC 6749 and 8628 instead of Weir's own. */
const refusal = (description: string, error: string, error_description: string) => ({
  400: { description, body: OAuthProblem, example: { error, error_description } },
});

export const deviceOperations = [
  openOperation({
    method: "POST",
    path: "/api/v1/auth/device/code",
    audience: "public",
    limited: "address",
    oauth: true,
    tag,
    summary: "Start device authorization",
    description:
      "For clients without a browser. Returns a device code to poll with and a code for the user to enter.",
    body: DeviceRequest,
    response: DeviceAuthorization,
    errors: [429],
    replies: refusal("The request is invalid.", "invalid_request", "client_id: Field required"),
    example: exampleDeviceAuthorization,
    bodyExample: { client_id: "weir-cli" },
    handle: async ({ app, body, visit }) => {
      const { deviceCode, userCode } = await requestCodes(app, body.client_id, visitorOf(visit));
      const page = `${app.baseUrl()}/device`;
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: CODE_SECONDS,
        interval: INTERVAL_SECONDS,
      };
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/v1/auth/device/token",
    audience: "public",
    oauth: true,
    tag,
    summary: "Get a device's access token",
    description:
      "Poll every `interval` seconds. `authorization_pending`: the user hasn't decided yet. `slow_down`: wait 5 seconds longer between requests. `access_denied`, `expired_token` and `invalid_grant` are final; `invalid_grant` is also returned once the token was issued.",
    body: TokenRequest,
    response: AccessTokenReply,
    errors: [429],
    replies: refusal("No token is available, or not yet.", "authorization_pending", "Authorization pending."),
    example: exampleTokenReply,
    bodyExample: { grant_type: DEVICE_GRANT, device_code: "9XcVl7…", client_id: "weir-cli" },
    handle: async ({ app, body, visit }) => {
      const { grant_type, device_code, client_id } = body;
      if (grant_type !== DEVICE_GRANT) {
        throw new OAuthError("unsupported_grant_type", `The only grant type here is ${DEVICE_GRANT}.`);
      }
      if (device_code === undefined) throw new OAuthError("invalid_request", "device_code: Field required");
      if (client_id === undefined) throw new OAuthError("invalid_request", "client_id: Field required");
      const input = { deviceCode: device_code, clientId: client_id };
      const { token, expiresInSeconds } = await pollForToken(app, input, visitorOf(visit));
      return { access_token: token, token_type: "Bearer", expires_in: expiresInSeconds };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/auth/device",
    audience: "any",
    personal: true,
    limited: "address",
    tag,
    summary: "Get a device by its code",
    description: "Shows the waiting client before you decide.",
    query: DeviceQuery,
    response: WaitingDevice,
    errors: [404, 409, 410],
    example: exampleWaitingDevice,
    handle: async ({ ctx, query }) => {
      const { row, code } = await findWaiting(ctx, query.user_code);
      return toWaitingDevice(row, code);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/auth/device/approve",
    audience: "any",
    personal: true,
    limited: "address",
    tag,
    summary: "Approve or deny a device",
    description:
      "An approved client acts as you, in the organization of the request. If you approve it with an access token, its access ends when that token expires.",
    body: DeviceDecision,
    status: 204,
    errors: [401, 404, 409, 410],
    bodyExample: { userCode: "WDJB-MJHT", approve: true },
    async handle({ app, ctx, body, identity }) {
      // Approving gives a client access, so it needs a recent sign-in. Denying doesn't.
      if (body.approve) requireFreshSignIn(app, identity);
      await decide(ctx, { ...body, latest: identity.expiresAt });
    },
  }),
];
