import type { BuiltIn } from "./contract.ts";

/** A connection template for the most common kind of API. */
export const httpApi: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000101",
  slug: "http-api",
  version: 1,
  templateType: "connection",
  displayName: "HTTP API with a token",
  description: "An HTTP API that accepts a bearer token.",
  definition: {
    http: {
      baseUrl: "{{config.baseUrl}}",
      auth: { type: "bearer", token: "{{credentials.token}}" },
      verify: { method: "GET", path: "{{config.verifyPath}}" },
    },
    configSchema: {
      type: "object",
      properties: {
        baseUrl: {
          type: "string",
          title: "Base URL",
          description: "Paths of requests are appended to it.",
          format: "uri",
          maxLength: 2048,
        },
        verifyPath: {
          type: "string",
          title: "Path to verify with",
          description: "Path that verifies the connection: GET must return 2xx.",
          maxLength: 2048,
          default: "/",
        },
      },
      required: ["baseUrl"],
      additionalProperties: false,
    },
    credentialsSchema: {
      type: "object",
      properties: { token: { type: "string", title: "Token", minLength: 1, maxLength: 8192 } },
      required: ["token"],
      additionalProperties: false,
    },
  },
  inputJsonSchema: { type: "object", properties: {}, additionalProperties: false },
};
