/** Minimum indentation of flag descriptions. Text with less is a paragraph of its own. */
const DESCRIPTION_INDENT = 8;

/** A flag, up to its description. */
const FLAG = /^ +-\S.*?\S {2,}(?=\S)/;

/** Wraps a command's help to `width` columns: paragraphs and flag descriptions are refilled. */
export function wrapped(text: string, width: number): string {
  const lines = text.split("\n");
  if (lines.every((line) => line.length <= width)) return text;
  const blocks: string[] = [];
  for (const line of lines) {
    const last = blocks.at(-1);
    if (last !== undefined && continues(last, line)) blocks[blocks.length - 1] = `${last} ${line.trim()}`;
    else blocks.push(line);
  }
  return blocks.flatMap((block) => filled(block, width)).join("\n");
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Returns whether a line continues a paragraph or a flag's description. */
function continues(last: string, line: string): boolean {
  if (last.trim() === "" || line.trim() === "" || line.startsWith("#")) return false;
  if (/^ +-/.test(last) && !FLAG.test(last)) return false; // a long flag, above its description
  return indentOf(line) >= DESCRIPTION_INDENT || (indentOf(line) === 0 && indentOf(last) === 0);
}

/** Wraps a block. Later lines start below the flag's description, or a little further in. */
function filled(block: string, width: number): string[] {
  if (block.length <= width) return [block];
  const description = FLAG.exec(block)?.[0].length;
  const indent = " ".repeat(description ?? (indentOf(block) > 0 ? indentOf(block) + 4 : 0));
  const lines: string[] = [];
  let line = block.slice(0, description ?? indentOf(block));
  for (const word of block.slice(line.length).split(" ")) {
    const isEmpty = line.trim() === "" || line.length === description;
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent + word;
    } else line += isEmpty ? word : ` ${word}`;
  }
  return [...lines, line];
}
