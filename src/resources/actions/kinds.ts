import { Type } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { jsonObject, object, oneOf } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { HTTP_PROVIDER } from "../../providers/http-template/http-template.ts";
import { definitionShape } from "../../queue/definition.ts";

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

/** The kinds that this version can run. Schemas are JSON Schema. */
export const describeKinds = (app: Pick<App, "executors" | "providers">) =>
  Object.values(app.executors).map((executor) => ({
    kind: executor.kind,
    title: executor.title,
    description: executor.description,
    definitionSchema: asGiven(plain(definitionShape(executor))),
    resultSchema: plain(executor.result),
    providers:
      executor.providers === null ? [...app.providers.keys(), HTTP_PROVIDER] : [...executor.providers],
  }));

/** Removes the symbols that only TypeBox reads. */
const plain = (schema: object): JsonObject => JSON.parse(JSON.stringify(schema));

/** Input schema: fields with a default can be omitted. */
function asGiven(schema: JsonObject): JsonObject {
  const within = (value: Json): Json =>
    Array.isArray(value) ? value.map(within) : isObject(value) ? asGiven(value) : value;
  const { required, "x-is": _, "x-default": fallback, ...own } = schema;
  const rest: JsonObject = fallback === undefined ? own : { ...own, default: fallback };
  const made: JsonObject = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, name === "default" ? value : within(value)]),
  );
  const { properties } = schema;
  if (!Array.isArray(required) || !isObject(properties))
    return required === undefined ? made : { ...made, required };
  const stillRequired = required.filter((name) => {
    const property = properties[String(name)];
    return !(isObject(property) && "default" in property);
  });
  return stillRequired.length > 0 ? { ...made, required: stillRequired } : made;
}
