import { operation } from "../../http/operation.ts";
import { overviewOf } from "./service.ts";
import { Overview, OverviewQuery } from "./wire.ts";

export const overviewOperations = [
  operation({
    method: "GET",
    path: "/api/v1/overview",
    audience: "viewer",
    tag: "Organizations",
    summary: "Get the organization's overview",
    description:
      "Counts of runs, failing and late automations, the next scheduled runs, pending approvals, dead letters and failing connections, over the whole organization.",
    query: OverviewQuery,
    response: Overview,
    handle: ({ ctx, query }) => overviewOf(ctx, query),
  }),
];
