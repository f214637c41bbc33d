import { StreamLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

interface ParserState {
  part: "top" | "front" | "body";
  isCode: boolean;
}

const KEY = /^[\w-]+(?=\s*:)/;

/** Markdown with YAML front matter, as far as highlighting helps reading. */
export const markdown: Extension = StreamLanguage.define<ParserState>({
  startState: () => ({ part: "top", isCode: false }),
  copyState: (state) => ({ ...state }),
  token(stream, state) {
    if (stream.sol()) {
      const isFence = /^---\s*$/.test(stream.string);
      if (isFence && state.part !== "body") {
        state.part = state.part === "top" ? "front" : "body";
        stream.skipToEnd();
        return "comment";
      }
      if (state.part === "top") state.part = "body";
    }
    return state.part === "front" ? inFront(stream) : inBody(stream, state);
  },
});

type Stream = Parameters<Parameters<typeof StreamLanguage.define>[0]["token"]>[0];

function inFront(stream: Stream): string | null {
  if (stream.eatSpace()) return null;
  const before = stream.string.slice(0, stream.pos);
  if (/^\s*$/.test(before) && stream.match(KEY)) return "propertyName";
  if (stream.match(/^#.*/)) return "comment";
  if (stream.match(/^(?:"(?:[^"\\]|\\.)*"|'[^']*')/)) return "string";
  if (stream.match(/^(?:-?\d[\d.]*|true|false|null)(?=[\s,\]]|$)/)) return "number";
  if (stream.match(/^[-:,[\]{}]/)) return null;
  stream.match(/^[^\s,\]]+/) || stream.next();
  return "string";
}

function inBody(stream: Stream, state: ParserState): string | null {
  const line = stream.string;
  const isFence = /^\s*(?:```|~~~)/.test(line);
  stream.skipToEnd();
  if (isFence) state.isCode = !state.isCode;
  if (isFence || state.isCode) return "string";
  return /^#{1,6}\s/.test(line) ? "heading" : null;
}

const bad = Decoration.line({ class: "cm-bad-line" });

/** Highlights these lines, if they exist. */
export const badLinesOf = (lines: readonly number[] = []): Extension =>
  EditorView.decorations.of(({ state: { doc } }) =>
    Decoration.set(
      [...new Set(lines)]
        .filter((line) => line >= 1 && line <= doc.lines)
        .sort((one, other) => one - other)
        .map((line) => bad.range(doc.line(line).from)),
    ),
  );
