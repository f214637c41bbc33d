import type { JsonObject } from "../../../base/json.ts";

/** A built-in template. Its ID never changes. A new version is a new entry with its own ID. */
export interface BuiltIn {
  id: string;
  slug: string;
  version: number;
  templateType: "connection" | "bundle";
  displayName: string;
  description: string;
  definition: JsonObject;
  inputJsonSchema: JsonObject;
  /** URL of the API documentation, for a connection template. */
  docs?: string;
  /** Sample files that an install writes to a connection's folder, unless they exist. */
  files?: readonly { component: string; name: string; text: string }[];
}

/** Returns a schema of inputs with only these properties. */
export const inputs = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const DATASET = "^[a-z][a-z0-9_]{0,62}$";

export const dataset = (fallback: string, description: string): JsonObject => ({
  type: "string",
  title: "Dataset",
  description,
  pattern: DATASET,
  default: fallback,
});
export const folder = (fallback: string, description: string): JsonObject => ({
  type: "string",
  title: "Folder",
  description,
  minLength: 1,
  maxLength: 500,
  default: fallback,
});
/** A connection of the organization. If it is omitted, a field that consists only of this input is left out. */
export const connectionId = (description: string): JsonObject => ({
  type: "string",
  title: "Connection",
  description,
  format: "uuid",
});
/** Condition that such an input is set. */
export const inputIsSet = (input: string) => `{{inputs.${input} ?? ""}} != ''`;
export const inputIsUnset = (input: string) => `{{inputs.${input} ?? ""}} == ''`;
export const webhookPath = (fallback: string): JsonObject => ({
  type: "string",
  title: "Webhook path",
  description: "Last part of the webhook's URL.",
  minLength: 1,
  maxLength: 200,
  default: fallback,
});
export const webhookSecret: JsonObject = {
  type: "string",
  title: "Webhook secret",
  description:
    "Secret that the sender signs requests with. Generated if omitted. To change it, update the automation.",
  minLength: 16,
  maxLength: 512,
  writeOnly: true,
};
export const cron = (fallback: string): JsonObject => ({
  type: "string",
  title: "Schedule",
  description: "When to run, as a cron expression.",
  minLength: 1,
  maxLength: 200,
  default: fallback,
});
export const timezone: JsonObject = {
  type: "string",
  title: "Time zone",
  description: "IANA time zone of the schedule, such as Europe/Berlin.",
  default: "UTC",
};
export const token: JsonObject = {
  type: "string",
  title: "Token",
  description: "Sent as Authorization: Bearer. Stored encrypted and never shown again.",
  minLength: 1,
  maxLength: 8192,
  writeOnly: true,
};
