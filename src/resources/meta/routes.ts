import { operation } from "../../http/operation.ts";
import { describeSelf } from "./service.ts";
import { Meta } from "./wire.ts";

export const metaOperations = [
  operation({
    method: "GET",
    path: "/api/v1/meta",
    audience: "any",
    tag: "Meta",
    summary: "Tells the version, its limits, and what kinds, providers, events and statuses there are",
    response: Meta,
    handle: async ({ app }) => describeSelf(app),
  }),
];
