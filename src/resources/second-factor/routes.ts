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
    summary: "Tells whether the second factor is on",
    response: TotpState,
    example: { isOn: true, recoveryCodesLeft: 9 },
    handle: ({ ctx }) => findTotp(ctx),
  }),
  operation({
    ...shared,
    method: "POST",
    path: "/api/v1/users/me/totp",
    freshSignIn: true,
    summary: "Makes the secret of an authenticator app, which its first code then confirms",
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
    summary: "Turns the second factor on; gives the recovery codes",
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
    summary: "Turns the second factor off",
    description: "Takes the password, a code of the app, or a recovery code.",
    body: Proof,
    bodyExample: { password: "correct horse battery staple" },
    status: 204,
    errors: [401, 409],
    handle: ({ ctx, body }) => endSecondFactor(ctx, body),
  }),
];
