import { operation } from "../../http/operation.ts";
import { endSecondFactor } from "../sign-in/confirm.ts";
import { beginTotp, confirmTotp, findTotp } from "./service.ts";
import { BegunTotp, exampleTotp, Proof, RecoveryCodes, TotpCode, TotpState } from "./wire.ts";

const shared = { audience: "any", personal: true, tag: "Users" } as const;

export const secondFactorOperations = [
  operation({
    ...shared,
    method: "GET",
    path: "/api/v1/users/me/totp",
    summary: "Get your second factor's status",
    response: TotpState,
    example: { isOn: true, recoveryCodesLeft: 9 },
    handle: ({ ctx }) => findTotp(ctx),
  }),
  operation({
    ...shared,
    method: "POST",
    path: "/api/v1/users/me/totp",
    freshSignIn: true,
    summary: "Create an authenticator secret",
    description: "The second factor is on once you confirm it with a code from the app.",
    response: BegunTotp,
    errors: [401, 409],
    example: exampleTotp,
    handle: ({ ctx }) => beginTotp(ctx),
  }),
  operation({
    ...shared,
    method: "POST",
    path: "/api/v1/users/me/totp/confirm",
    freshSignIn: true,
    summary: "Turn on the second factor",
    description: "Confirms the authenticator app with its first code, and returns the recovery codes.",
    body: TotpCode,
    bodyExample: { code: "123456" },
    response: RecoveryCodes,
    errors: [401, 409],
    example: { recoveryCodes: ["mfzw-k3tb-ozsx-i5lq-nbsw-y3dp"] },
    handle: async ({ ctx, body }) => ({ recoveryCodes: await confirmTotp(ctx, body.code) }),
  }),
  operation({
    ...shared,
    method: "DELETE",
    path: "/api/v1/users/me/totp",
    summary: "Turn off the second factor",
    description: "Requires the password, a code from the app, or a recovery code.",
    body: Proof,
    bodyExample: { password: "correct horse battery staple" },
    status: 204,
    errors: [401, 409],
    handle: ({ ctx, body }) => endSecondFactor(ctx, body),
  }),
];
