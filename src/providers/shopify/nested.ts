import { isObject, type JsonObject } from "../../base/json.ts";
import { moreQuery, pathOf } from "./query.ts";
import { askAdapting, type Reading } from "./reading.ts";
import type { Field } from "./resources.ts";
import { itemsOf } from "./rows.ts";

/** Page size for a list nested in one object. */
const MORE = 100;
/** Maximum length of a list without pagination. */
const WHOLE_LIST = 250;

/** Completes the lists nested in one object, which a page returns only in part and without a hint. */
export function completeNode(reading: Reading, node: JsonObject): Promise<void> {
  return complete(reading, node, reading.resource.type, reading.fields, "");
}

async function complete(
  reading: Reading,
  node: JsonObject,
  type: string,
  fields: readonly Field[],
  at: string,
): Promise<void> {
  for (const field of fields) {
    if (!field.of) continue;
    const path = pathOf(at, field);
    if (field.kind === "connection") await completeConnection(reading, node, type, field, path);
    if (field.kind === "list") await completeList(reading, node, type, field, path);
    const value = node[field.name];
    const below = Array.isArray(value) ? value : (itemsOf(value) ?? [value]);
    for (const item of below) if (isObject(item)) await complete(reading, item, field.type, field.of, path);
  }
}

async function completeConnection(
  reading: Reading,
  node: JsonObject,
  type: string,
  field: Field,
  path: string,
): Promise<void> {
  const list = node[field.name];
  const nodes = itemsOf(list);
  if (!isObject(list) || nodes === null || typeof node.id !== "string") return;
  let info = isObject(list.pageInfo) ? list.pageInfo : {};
  while (info.hasNextPage === true && typeof info.endCursor === "string") {
    const after = info.endCursor;
    const more = await readMore(reading, type, field, path, { id: node.id, first: MORE, after });
    const items = itemsOf(more);
    if (!isObject(more) || items === null) {
      reading.session.link.warn?.(
        `${node.id} was deleted while its ${field.name} were being read. Some of them are missing.`,
        { isPartial: true },
      );
      break;
    }
    nodes.push(...items);
    const next = isObject(more.pageInfo) ? more.pageInfo : {};
    if (next.hasNextPage === true && next.endCursor === after) break;
    info = next;
  }
  node[field.name] = { nodes };
}

/** A list without pagination may be incomplete if it has as many items as requested. */
async function completeList(
  reading: Reading,
  node: JsonObject,
  type: string,
  field: Field,
  path: string,
): Promise<void> {
  const list = node[field.name];
  if (!Array.isArray(list) || list.length < (field.first ?? WHOLE_LIST) || typeof node.id !== "string")
    return;
  const whole = await readMore(reading, type, field, path, { id: node.id, first: WHOLE_LIST });
  if (Array.isArray(whole)) node[field.name] = whole;
  if (Array.isArray(whole) && whole.length < WHOLE_LIST) return;
  reading.session.link.warn?.(
    `${node.id} has more ${field.name} than Shopify returns. Only the first ones were read.`,
    { isPartial: true },
  );
}

async function readMore(reading: Reading, type: string, field: Field, path: string, variables: JsonObject) {
  const at = path.split(".").slice(0, -1).join(".");
  const { data } = await askAdapting(
    reading,
    () => ({ text: moreQuery(type, field, path, reading.leftOut), variables }),
    at,
  );
  return isObject(data.node) ? data.node[field.name] : undefined;
}
