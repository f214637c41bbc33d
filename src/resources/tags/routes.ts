import { operation } from "../../http/operation.ts";
import { listTags } from "./service.ts";
import { TagList } from "./wire.ts";

export const tagOperations = [
  operation({
    method: "GET",
    path: "/api/v1/tags",
    audience: "viewer",
    tag: "Automations",
    summary: "List tags",
    description: "The tags of automations and actions and the folders among them, with the number of each.",
    response: TagList,
    example: {
      tags: [{ tag: "/finance/eu", automations: 3, actions: 5 }],
      folders: [
        { path: "/finance", automations: 3, actions: 5 },
        { path: "/finance/eu", automations: 3, actions: 5 },
      ],
    },
    handle: ({ ctx }) => listTags(ctx),
  }),
];
