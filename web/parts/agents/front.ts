import type { Fault } from "../../api.ts";

const isFence = (line: string | undefined) => line !== undefined && /^---\s*$/.test(line);

/** Index of the line that ends the front matter, its second `---`. -1 if there is none. */
const endOf = (lines: readonly string[]): number =>
  isFence(lines[0]) ? lines.findIndex((line, at) => at > 0 && isFence(line)) : -1;

const isKey = (name: string) => (line: string) =>
  line.startsWith(name) && /^\s*:/.test(line.slice(name.length));

/** Indexes of the entries of `tools:` that are on lines of their own. */
function toolLines(lines: readonly string[], end: number): number[] {
  const key = lines.findIndex((line, at) => at < end && isKey("tools")(line));
  const found: number[] = [];
  for (let at = key + 1; key > 0 && at < end; at++) {
    const line = lines[at] ?? "";
    if (/^\s*-\s/.test(line)) found.push(at);
    else if (/^\S/.test(line)) break;
  }
  return found;
}

/** The line, counted from 1, that an error in a spec refers to. */
export function lineOf(markdown: string, { loc, msg }: Fault): number {
  const lines = markdown.split("\n");
  const [field = "", index] = loc.slice(2);
  const namedLine = Number(/\(line (\d+)\)/.exec(msg)?.[1] ?? 0);
  if (field === "") return namedLine || 1;
  const end = endOf(lines);
  const item = field === "tools" && index !== undefined ? toolLines(lines, end)[Number(index)] : undefined;
  const at = item ?? lines.findIndex((line, number) => number < end && isKey(field)(line));
  return at < 0 ? 1 : at + 1;
}

/** Adds a tool to the front matter in the existing notation. Returns the spec unchanged if it has the tool. */
export function withTool(markdown: string, tool: string): string {
  const lines = markdown.split("\n");
  const end = endOf(lines);
  if (end < 0) return markdown;
  const entry = /^[\w.:/-]+$/.test(tool) ? tool : JSON.stringify(tool);
  const items = toolLines(lines, end);
  if (items.some((at) => lines[at]?.replace(/^\s*-\s+/, "").trim() === entry)) return markdown;
  const key = lines.findIndex((line, at) => at < end && isKey("tools")(line));
  const inline = /^(tools\s*:\s*\[)(.*)(\]\s*)$/.exec(lines[key] ?? "");
  if (inline) {
    const [, open = "", content = "", close = ""] = inline;
    const before = content.split(",").map((each) => each.trim());
    if (before.includes(entry)) return markdown;
    lines[key] = open + [...before.filter((each) => each !== ""), entry].join(", ") + close;
  } else if (key < 0) {
    lines.splice(end, 0, "tools:", `  - ${entry}`);
  } else {
    const last = items.at(-1);
    const indent = /^\s*/.exec(lines[last ?? -1] ?? "  ")?.[0] ?? "  ";
    lines.splice((last ?? key) + 1, 0, `${indent}- ${entry}`);
  }
  return lines.join("\n");
}
