import type { SENDER_PROOFS } from "../../../src/base/sender-proof.ts";
import type { TriggerConfigs } from "../../../src/resources/automations/config-shapes.ts";
import type { Schema } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import type { Values } from "../form/form.tsx";
import { choice, type Each, type Fields, text } from "./trigger-schemas.ts";

type Webhook = Required<TriggerConfigs["webhook"]>;
type Preset = Webhook["signaturePreset"];
type Auth = Webhook["auth"];
type AuthType = Auth["type"];
type AuthOf<T extends AuthType> = Omit<Extract<Auth, { type: T }>, "type" | "token" | "password" | "value">;
type OwnSignature = Pick<Webhook, "signatureHeader" | "signatureAlgorithm" | "requireTimestamp">;

/** A secret that is shared with the sender. */
interface Proof {
  field: "secret" | (typeof SENDER_PROOFS)[keyof typeof SENDER_PROOFS];
  title: string;
  about: string;
  /** Created by the sender. No other value would work. */
  isTheirs: boolean;
}

/** A way to authenticate a sender. */
interface Way {
  name: string;
  /** Fields in addition to the secret. */
  fields: Schema;
  /** True if these fields belong to `auth` rather than to the config itself. */
  isAuth: boolean;
  proof: Proof | null;
}

const fieldsOf = <T>(properties: Fields<T>, ...required: (keyof T & string)[]): Schema => ({
  type: "object",
  properties,
  required,
});
const NONE = fieldsOf({});

const secret = (about: string, isTheirs = false): Proof => ({
  ...{ field: "secret", title: t("Secret"), about, isTheirs },
});
const MADE = t("16 to 512 characters. Leave empty for a new webhook to generate one.");

const SIGNATURE = fieldsOf<OwnSignature>({
  signatureHeader: text(t("Signature header"), undefined, { default: "X-SVC-Signature" }),
  signatureAlgorithm: choice<Webhook["signatureAlgorithm"]>(
    t("Algorithm"),
    { sha256: true, sha1: true, sha512: true },
    { default: "sha256" },
  ),
  requireTimestamp: {
    type: "boolean",
    title: t("Require a timestamp"),
    description: t("Reject signatures without a timestamp, to prevent replays"),
    default: true,
  },
});

const preset = (name: string, about: string, isTheirs = false): Way => ({
  ...{ name, fields: NONE, isAuth: false, proof: secret(about, isTheirs) },
});

/** Services with their own signature format. */
export const SERVICES: Readonly<Record<Preset, Way>> = {
  github: preset("GitHub", t("Enter the same secret in the repository's Settings → Webhooks.")),
  gitlab: preset("GitLab", t("Enter it as the secret token in GitLab's Settings → Webhooks.")),
  shopify: preset("Shopify", t("The app's client secret, or the one at Settings → Notifications."), true),
  slack: preset("Slack", t("The signing secret in the app's Basic Information."), true),
  stripe: preset("Stripe", t("The signing secret of the endpoint, which starts with whsec_."), true),
  svix: preset("Svix", t("The signing secret of the endpoint, which starts with whsec_."), true),
  standard: preset("Standard Webhooks", t("The signing secret of the endpoint, which starts with whsec_.")),
  telegram: preset(
    "Telegram",
    t("Pass it to setWebhook as secret_token. Use letters, digits, _ and - only."),
  ),
};

/** Ways for any sender. */
export const TYPES: Readonly<Record<AuthType, Way>> = {
  signature: { name: t("Signature"), fields: SIGNATURE, isAuth: false, proof: secret(MADE) },
  bearer: {
    name: t("Bearer token"),
    fields: fieldsOf<AuthOf<"bearer">>({}),
    isAuth: true,
    proof: {
      ...secret(t("The token after Bearer in the Authorization header.")),
      ...{ field: "token", title: t("Token") },
    },
  },
  basic: {
    name: t("Username and password"),
    fields: fieldsOf<AuthOf<"basic">>({ username: text(t("Username")) }, "username"),
    isAuth: true,
    proof: { ...secret(t("At least 8 characters.")), ...{ field: "password", title: t("Password") } },
  },
  header: {
    name: t("Secret header"),
    fields: fieldsOf<AuthOf<"header">>({ name: text(t("Header name")) }, "name"),
    isAuth: true,
    proof: { ...secret(t("At least 8 characters.")), ...{ field: "value", title: t("Header value") } },
  },
  ed25519: {
    name: t("Ed25519 signature"),
    fields: fieldsOf<AuthOf<"ed25519">>(
      {
        publicKey: text(t("Public key"), t("32 bytes as hex or base64, or PEM"), {
          contentMediaType: "text/plain",
        }),
        signatureHeader: text(t("Signature header")),
        timestampHeader: text(t("Timestamp header"), t("Leave empty if only the body is signed")),
      },
      "publicKey",
      "signatureHeader",
    ),
    isAuth: true,
    proof: null,
  },
};

/** Fields of a config about the sender's authentication. */
const SENDER: Each<keyof OwnSignature | "signaturePreset" | "auth"> = {
  signaturePreset: true,
  auth: true,
  signatureHeader: true,
  signatureAlgorithm: true,
  requireTimestamp: true,
};
export const SENDER_FIELDS: readonly string[] = Object.keys(SENDER);

/** The selected way of a config. Can be an unknown name. */
export function choiceOf({ signaturePreset, auth }: Values): string {
  if (typeof signaturePreset === "string") return signaturePreset;
  const { type } = (typeof auth === "object" && auth !== null ? auth : {}) as { type?: unknown };
  return typeof type === "string" ? type : "signature";
}

export const wayOf = (chosen: string): Way | undefined =>
  Object.entries({ ...SERVICES, ...TYPES }).find(([id]) => id === chosen)?.[1];

/**
 * Returns a config with another way selected, and its other fields unchanged.
 * If `before` had this way, its fields are restored.
 */
export function withChoice(config: Values, chosen: string, before: Values): Values {
  const dropped = [...SENDER_FIELDS, "secret"];
  const kept = Object.entries(config).filter(([name]) => !dropped.includes(name));
  const own = Object.entries(before).filter(([name]) => SENDER_FIELDS.includes(name));
  const made = Object.hasOwn(SERVICES, chosen)
    ? { signaturePreset: chosen }
    : chosen === "signature"
      ? {}
      : { auth: { type: chosen } };
  return { ...Object.fromEntries(kept), ...(choiceOf(before) === chosen ? Object.fromEntries(own) : made) };
}
