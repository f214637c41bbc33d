import { Type } from "@sinclair/typebox";
import { object } from "../../base/shape.ts";
import { openOperation } from "../../http/operation.ts";

const Health = object({ status: Type.String() });

export const healthOperations = [
  openOperation({
    method: "GET",
    path: "/health",
    audience: "public",
    tag: "Health",
    summary: "Tells that the process answers; touches no database",
    response: Health,
    example: { status: "ok" },
    handle: async () => ({ status: "ok" }),
  }),
];
