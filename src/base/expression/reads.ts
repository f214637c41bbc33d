import type { Node } from "./parse.ts";

/** Prefixes of functions with a dot in their names. They can't be names of values. */
export const NAMESPACES: ReadonlySet<string> = new Set(
  "math lists strings base64 json csv url hash date regex html".split(" "),
);

/** A name of the scope with literal keys after it: `steps.a["b"].c` has four parts. */
export interface Read {
  path: string[];
  at: number;
}

/** Returns everything that an expression reads from its scope. `bound` are the variables of macros. */
export function readsOf(node: Node, bound: readonly string[] = []): Read[] {
  const path = pathOf(node, bound);
  if (path) return [path];
  if (node.kind === "loop") {
    const inner = [...bound, ...node.names];
    return [...readsOf(node.list, bound), ...node.args.flatMap((arg) => readsOf(arg, inner))];
  }
  return partsOf(node, bound).flatMap((part) => readsOf(part, bound));
}

/** Returns the names of the functions and methods that an expression calls. */
export const callsIn = (node: Node): string[] => [
  ...(node.kind === "call" ? [node.name] : []),
  ...partsOf(node, []).flatMap(callsIn),
];

function partsOf(node: Node, bound: readonly string[]): Node[] {
  switch (node.kind) {
    case "value":
    case "name":
      return [];
    case "field":
    case "has":
    case "not":
    case "negative":
      return [node.of];
    case "index":
      return [node.of, node.key];
    case "call":
      return node.of === null || isNamespace(node.of, bound) ? node.args : [node.of, ...node.args];
    case "loop":
      return [node.list, ...node.args];
    case "binary":
      return [node.left, node.right];
    case "choice":
      return [node.condition, node.yes, node.no];
    case "list":
      return node.items;
    case "map":
      return node.entries.flat();
  }
}

const isNamespace = (node: Node, bound: readonly string[]) =>
  node.kind === "name" && !bound.includes(node.name) && NAMESPACES.has(node.name);

/** Null unless it is a name with literal keys. */
function pathOf(node: Node, bound: readonly string[]): Read | null {
  if (node.kind === "name") return bound.includes(node.name) ? null : { path: [node.name], at: node.at };
  const key =
    node.kind === "field" || node.kind === "has"
      ? node.name
      : node.kind === "index" &&
          node.key.kind === "value" &&
          ["string", "bigint"].includes(typeof node.key.value)
        ? String(node.key.value)
        : null;
  if (key === null || !("of" in node) || node.of === null) return null;
  const holder = pathOf(node.of, bound);
  return holder && { path: [...holder.path, key], at: holder.at };
}
