import { SLUG_PATTERN } from "../../base/slug.ts";

/** Tools without an argument, and tools that name a resource (docs/decisions/agents.md). */
const PLAIN_TOOLS = ["query", "datasets", "web_search", "fetch_page"] as const;
const NAMING_TOOLS = ["api", "action", "automation", "connection"] as const;
export type ToolKind = (typeof PLAIN_TOOLS)[number] | (typeof NAMING_TOOLS)[number];

const SLUG = new RegExp(SLUG_PATTERN);

/** Parses `action:refund` into its kind and name. Null for an invalid tool. */
export function readTool(text: string): { kind: ToolKind; named: string } | null {
  const plain = PLAIN_TOOLS.find((kind) => kind === text);
  if (plain) return { kind: plain, named: "" };
  const colon = text.indexOf(":");
  const kind = NAMING_TOOLS.find((one) => one === text.slice(0, colon));
  const named = text.slice(colon + 1);
  if (!kind || named.trim() === "" || named !== named.trim()) return null;
  return kind === "api" || SLUG.test(named) ? { kind, named } : null;
}

/** Returns what is wrong with one entry of `tools`. Null if nothing is. */
export function toolFault(text: string): string | null {
  if (readTool(text)) return null;
  const known = [
    ...PLAIN_TOOLS,
    ...NAMING_TOOLS.map((kind) => `${kind}:${kind === "api" ? "NAME" : "SLUG"}`),
  ];
  return `Unknown tool ${JSON.stringify(text.slice(0, 100))}. Use ${known.join(", ")}`;
}
