import { operation } from "../../http/operation.ts";
import { describeSelf } from "./service.ts";
import { Meta } from "./wire.ts";

export const metaOperations = [
  operation({
    method: "GET",
    path: "/api/v1/meta",
    audience: "any",
    tag: "Meta",
    summary: "Get server metadata",
    description: "Version, limits, kinds, providers, event types and statuses.",
    response: Meta,
    handle: async ({ app }) => describeSelf(app),
  }),
];
