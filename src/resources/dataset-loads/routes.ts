import { operation } from "../../http/operation.ts";
import { DatasetRef } from "../datasets/wire.ts";
import { listLoads } from "./service.ts";
import { LoadPage, LoadQuery } from "./wire.ts";

export const datasetLoadOperations = [
  operation({
    method: "GET",
    path: "/api/v1/datasets/{layer}/{dataset}/loads",
    audience: "viewer",
    tag: "Datasets",
    summary: "List a dataset's loads",
    description:
      "Newest first, with the rows that each changed and the run that made it, and how fresh the dataset is.",
    params: DatasetRef,
    query: LoadQuery,
    response: LoadPage,
    handle: ({ ctx, params, query }) => listLoads(ctx, params, query),
  }),
];
