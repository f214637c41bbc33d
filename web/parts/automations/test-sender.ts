import type { AutomationConfig } from "../../../src/resources/automations/config.ts";
import { t } from "../../texts/text.ts";

type Preset = NonNullable<AutomationConfig["signaturePreset"]>;
type Algorithm = NonNullable<AutomationConfig["signatureAlgorithm"]>;
const HASHES: Readonly<Record<Algorithm, string>> = { sha256: "SHA-256", sha1: "SHA-1", sha512: "SHA-512" };

/** Fields of a webhook's config about its sender. */
export type WebhookConfig = Pick<
  AutomationConfig,
  "signaturePreset" | "signatureHeader" | "signatureAlgorithm" | "auth"
>;

/** How to send a test request. */
export interface TestSender {
  /** Describes the authentication, by field. */
  about: readonly (readonly [name: string, text: string])[];
  /** True if the secret is used to sign and isn't sent. */
  signs: boolean;
  /** Headers of a request. Null if only the sender can create them. */
  headers: ((secret: string, body: string) => Promise<Record<string, string>>) | null;
}

/** `sha256=<hex>` of `text`, the format of Weir and most senders. */
async function sign(secret: string, algorithm: Algorithm, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const hash = HASHES[algorithm];
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash }, false, [
    "sign",
  ]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return `${algorithm}=${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const sends = (name: string, text: string, value: (secret: string) => string): TestSender => ({
  about: [[name, text]],
  signs: false,
  headers: async (secret) => ({ [name]: value(secret) }),
});

/** Headers of senders that send the secret itself, by preset. */
const SECRET_HEADERS: Readonly<Partial<Record<Preset, string>>> = {
  gitlab: "X-Gitlab-Token",
  telegram: "X-Telegram-Bot-Api-Secret-Token",
};

export function testSenderOf(config: WebhookConfig): TestSender {
  const {
    signaturePreset,
    auth,
    signatureHeader = "X-SVC-Signature",
    signatureAlgorithm = "sha256",
  } = config;
  const header = signaturePreset && SECRET_HEADERS[signaturePreset];
  if (header) return sends(header, t("Secret"), (secret) => secret);
  if (signaturePreset)
    return {
      about: [[t("Sender"), t("{service} signature", { service: signaturePreset })]],
      signs: true,
      headers: null,
    };
  switch (auth?.type) {
    case "bearer":
      return sends("Authorization", t("Bearer token"), (secret) => `Bearer ${secret}`);
    case "basic":
      return sends("Authorization", t("Basic, user name {name}", { name: auth.username }), (secret) => {
        const bytes = new TextEncoder().encode(`${auth.username}:${secret}`);
        return `Basic ${btoa(String.fromCharCode(...bytes))}`;
      });
    case "header":
      return sends(auth.name, t("Value"), (secret) => secret);
    case "ed25519":
      return { about: [[t("Sender"), t("Ed25519 signature")]], signs: true, headers: null };
    default:
      return {
        about: [
          [t("Signature header"), signatureHeader],
          [
            t("Algorithm"),
            t("{algorithm} of timestamp.body, with the header {header}", {
              algorithm: `HMAC-${signatureAlgorithm}`,
              header: "X-SVC-Timestamp",
            }),
          ],
        ],
        signs: true,
        async headers(secret, body) {
          const stamp = String(Math.floor(Date.now() / 1000));
          const signature = await sign(secret, signatureAlgorithm, `${stamp}.${body}`);
          return { [signatureHeader]: signature, "X-SVC-Timestamp": stamp };
        },
      };
  }
}
