import { type Definitions, fail, textOf } from "./contract.ts";

const MAX_CHARACTERS = 1024 * 1024;

/** Elements on lines of their own. */
const BLOCKS =
  "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split(
    " ",
  );
/** Elements next to each other on one line. */
const CELLS = ["td", "th"];
const UNSEEN = ["script", "style", "noscript", "template", "head"];
const TEXT_NODE = 3;

interface Part {
  nodeType: number;
  localName?: string;
  textContent: string | null;
  childNodes: Iterable<Part>;
}

/** Returns the visible text, with blocks on lines of their own. */
function visibleText(root: Part): string {
  const texts: string[] = [];
  const pending: (Part | "\n" | " ")[] = [root];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (typeof part === "string") texts.push(part);
    else if (part.nodeType === TEXT_NODE) texts.push((part.textContent ?? "").replace(/\s+/g, " "));
    else if (!UNSEEN.includes(part.localName ?? "")) {
      const isBlock = BLOCKS.includes(part.localName ?? "");
      if (isBlock) pending.push("\n");
      if (CELLS.includes(part.localName ?? "")) pending.push(" ");
      pending.push(...[...part.childNodes].reverse());
      if (isBlock) pending.push("\n");
    }
  }
  const lines = texts
    .join("")
    .split("\n")
    .map((line) => line.trim());
  return lines.filter((line) => line !== "").join("\n");
}

export const htmlFunctions: Definitions = {
  "html.text": {
    takes: "text",
    about: "Visible text of HTML (at most 1,000,000 characters). Block elements are on separate lines.",
    examples: [['html.text("<p>Hello <b>Ada</b></p><p>Bye</p>")', '"Hello Ada\\nBye"']],
    call([value], { budget }) {
      const text = textOf(value);
      if (text.length > MAX_CHARACTERS)
        fail(`the text has more than ${MAX_CHARACTERS.toLocaleString("en-US")} characters`);
      budget.stepAside();
      budget.step(20 * text.length);
      budget.make(text.length);
      const { parseHTML } = require("linkedom") as typeof import("linkedom");
      return visibleText(parseHTML(`<html><body>${text}</body></html>`).document as unknown as Part);
    },
  },
};
