import { Type } from "@sinclair/typebox";
import { jsonObject, object, oneOf } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { HTTP_PROVIDER } from "../../providers/http-template.ts";
import { definitionShape } from "./definition.ts";

export const KindPage = object({
  kinds: Type.Array(
    object({
      kind: oneOf(ACTION_KINDS),
      title: Type.String(),
      description: Type.String(),
      definitionSchema: jsonObject(),
      resultSchema: jsonObject(),
      providers: Type.Array(Type.String()),
    }),
  ),
});

/** The kinds that this version carries out; schemas are JSON Schema. */
export const describeKinds = (app: App) =>
  Object.values(app.executors).map((executor) => ({
    kind: executor.kind,
    title: executor.title,
    description: executor.description,
    definitionSchema: plain(definitionShape(executor)),
    resultSchema: plain(executor.result),
    providers:
      executor.providers === null ? [...app.providers.keys(), HTTP_PROVIDER] : [...executor.providers],
  }));

/** Without the marks that only TypeBox reads. */
const plain = (schema: object) => JSON.parse(JSON.stringify(schema));
