import { Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import { object, optional } from "../../base/shape.ts";

const code = () =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    description: "Six digits from the authenticator app, or a recovery code.",
  });

export const TotpState = object({
  isOn: Type.Boolean(),
  recoveryCodesLeft: Type.Integer({
    description: "Number of unused recovery codes, of 10. 0 while the second factor is off",
  }),
});

export const BegunTotp = object({
  secret: Type.String({ description: "Secret for the authenticator app, base32. Returned only once." }),
  otpauthUrl: Type.String({ description: "The secret as an otpauth URL, for a QR code" }),
});

export const TotpCode = object({ code: Type.String({ minLength: 1, maxLength: 100 }) });

export const RecoveryCodes = object({
  recoveryCodes: Type.Array(Type.String(), {
    description: "Ten recovery codes, each valid once. Returned only once.",
  }),
});

/** Either the password or a code. */
export const Proof = requestObject({
  password: optional(Type.String({ minLength: 1, maxLength: 1024 })),
  code: optional(code()),
});

export const exampleTotp = {
  secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
  otpauthUrl:
    "otpauth://totp/Weir:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Weir&algorithm=SHA1&digits=6&period=30",
};
