import { operation } from "../../http/operation.ts";
import { DatasetRef } from "../datasets/wire.ts";
import { lineageGraph } from "./service.ts";
import { LineageGraph, LineageGraphQuery } from "./wire.ts";

export const lineageOperations = [
  operation({
    method: "GET",
    path: "/api/v1/datasets/{layer}/{dataset}/lineage/graph",
    audience: "viewer",
    tag: "Datasets",
    summary: "Get a dataset's lineage graph",
    description:
      "Where the dataset's rows come from and where they go: connections, actions, steps of automations and datasets, by the latest 20 loads and reads of each dataset, and the saved queries and dashboards whose SQL names its tables.",
    params: DatasetRef,
    query: LineageGraphQuery,
    response: LineageGraph,
    handle: ({ ctx, params, query }) => lineageGraph(ctx, params, query.depth),
  }),
];
