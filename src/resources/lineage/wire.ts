import { type Static, Type } from "@sinclair/typebox";
import { described, instant, nullable, object, oneOf } from "../../base/shape.ts";

export const LineageGraphQuery = object({
  depth: Type.Integer({
    minimum: 1,
    maximum: 5,
    default: 3,
    description: "How many datasets away from this one it looks, on both sides",
  }),
});
export type LineageGraphQuery = Static<typeof LineageGraphQuery>;

const LineageNode = object({
  id: described("Name of the node within this reply", Type.String()),
  type: oneOf(["connection", "action", "step", "run", "upload", "sync", "dataset", "query", "dashboard"], {
    description:
      "`step` is a step of an automation without an action of its own, `run` a run of neither, `upload` a file, `sync` another organization",
  }),
  name: Type.String({ description: "For a step, the automation's; for a dataset, `layer.dataset`" }),
  kind: nullable(Type.String({ description: "The action's kind, or the connection's provider" })),
  resourceId: nullable(
    Type.String({
      description:
        "ID of the connection, action, automation, saved query or dashboard; null if it was deleted, and for other types",
    }),
  ),
  layer: nullable(Type.String()),
  dataset: nullable(Type.String()),
  stepKey: nullable(Type.String()),
  updatedAt: nullable(described("When a dataset was last loaded", instant())),
});
export type LineageNode = Static<typeof LineageNode>;

const LineageEdge = object({
  from: described("ID of the node that the data comes from", Type.String()),
  to: described("ID of the node that it goes to", Type.String()),
  at: nullable(described("When a run last read or wrote this; null if no run did", instant())),
});
export type LineageEdge = Static<typeof LineageEdge>;

export const LineageGraph = object({
  nodes: Type.Array(LineageNode),
  edges: Type.Array(LineageEdge),
  truncated: described("Whether there is more than it shows", Type.Boolean()),
});
export type LineageGraph = Static<typeof LineageGraph>;
