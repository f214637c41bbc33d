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

/** The errors of RFC 6749 and 8628 in place of Weir's own. */
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
    summary: "Gives a client without a browser two codes: one to poll with, and one for its person to enter",
    body: DeviceRequest,
    response: DeviceAuthorization,
    errors: [429],
    replies: refusal("The request does not fit.", "invalid_request", "client_id: Field required"),
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
    summary: "Gives the client its access token once its person has approved",
    description:
      "Asked for again and again, `interval` seconds apart. `authorization_pending`: not yet. `slow_down`: not yet, and wait 5 seconds longer from now on. `access_denied`, `expired_token` and `invalid_grant` are final; the last one also once the token was given.",
    body: TokenRequest,
    response: AccessTokenReply,
    errors: [429],
    replies: refusal(
      "There is no token, or not yet.",
      "authorization_pending",
      "The person has not decided yet.",
    ),
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
    summary: "Shows the client that waits under a code, before one decides",
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
    summary:
      "Lets the client in as the person who asks, in the organization of the request, or turns it away",
    description: "A client that an access token lets in is out again when that token expires.",
    body: DeviceDecision,
    status: 204,
    errors: [401, 404, 409, 410],
    bodyExample: { userCode: "WDJB-MJHT", approve: true },
    async handle({ app, ctx, body, identity }) {
      if (body.approve) requireFreshSignIn(app, identity); // a client is a way in; anyone may turn it away
      await decide(ctx, { ...body, latest: identity.expiresAt });
    },
  }),
];
