import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { StandardSQL, sql } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "react";
import { flushSync } from "react-dom";
import type { CodeProps } from "./code.tsx";
import { badLinesOf, markdown } from "./markdown.ts";
import { offersOf } from "./offers.ts";
import type { TemplatePath } from "./template-paths.ts";
import { typedOver } from "./typed-over.ts";

const theme = EditorView.theme({
  "&": { fontSize: "12px", backgroundColor: "var(--raised)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "ui-monospace, Menlo, Consolas, monospace", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--sunken)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--strong-line)",
    borderRadius: "6px",
    color: "var(--ink)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-completionIcon": { display: "none" }, // few fonts have these symbols
  ".cm-completionDetail": { color: "var(--faint)", fontStyle: "normal" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", border: "none", color: "var(--soft)" },
  ".cm-bad-line": { backgroundColor: "var(--bad-soft)" },
  ".cm-panels": { backgroundColor: "var(--ground)", color: "var(--ink)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.keyword, tags.operatorKeyword], color: "var(--code-key)" },
  { tag: tags.heading, color: "var(--ink)", fontWeight: "600" },
  { tag: tags.string, color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
]);

const grammarOf = (language: CodeProps["language"], tables?: CodeProps["tables"]) =>
  language === "json"
    ? json()
    : language === "markdown"
      ? markdown
      : language === "typescript"
        ? javascript({ typescript: true })
        : sql({
            dialect: StandardSQL,
            upperCaseKeywords: true,
            schema: Object.fromEntries(
              Object.entries(tables?.columns ?? {}).map(([name, columns]) => [name, [...columns]]),
            ),
          });

interface EditorProps extends CodeProps {
  /** Completions after `{{`, and in scripts those of `input`. */
  paths: readonly TemplatePath[];
}

/**
 * CodeMirror in a shadow root. There it keeps its styles in a constructed style sheet, which the CSP allows.
 * In the document it would insert an inline style element, which the CSP blocks.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of the editor's parts
export default function Editor(props: EditorProps) {
  const {
    value,
    language,
    label,
    tables,
    paths,
    words,
    badLines,
    minHeight = 120,
    isInvalid = false,
  } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const grammar = useRef(new Compartment());
  const offers = useRef(new Compartment());
  const marks = useRef(new Compartment());
  /** Texts that were reported but haven't come back as `value` yet. */
  const underWay = useRef<string[]>([]);
  const isPutIn = useRef(false);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          basicSetup,
          theme,
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          typedOver,
          grammar.current.of(grammarOf(language, latest.current.tables)),
          offers.current.of(offersOf(latest.current)),
          marks.current.of(badLinesOf(latest.current.badLines)),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.theme({ ".cm-content": { minHeight: `${minHeight}px` } }),
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: (view) => {
                  const { state } = view;
                  view.dispatch({ selection: state.selection }); // closes the completions
                  // Reports the last keystrokes, so that they are sent too.
                  flushSync(() => latest.current.onChange(state.doc.toString()));
                  latest.current.onSubmit?.();
                  return latest.current.onSubmit !== undefined;
                },
              },
            ]),
          ),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || isPutIn.current) return;
            const text = update.state.doc.toString();
            underWay.current.push(text);
            latest.current.onChange(text);
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [language, label, minHeight]);

  // New tables change the suggestions, not the editor, so that typing isn't interrupted.
  useEffect(() => {
    view.current?.dispatch({
      effects: [
        grammar.current.reconfigure(grammarOf(language, tables)),
        offers.current.reconfigure(offersOf({ language, tables, paths, words })),
      ],
    });
  }, [language, tables, paths, words]);

  useEffect(() => {
    view.current?.dispatch({ effects: marks.current.reconfigure(badLinesOf(badLines)) });
  }, [badLines]);

  useEffect(() => {
    const { current } = view;
    // Typed text comes back after the next keystroke, so only other values are inserted.
    const at = underWay.current.lastIndexOf(value);
    underWay.current.splice(0, at + 1);
    const isOlder = at >= 0 && underWay.current.length > 0;
    if (isOlder || !current || current.state.doc.toString() === value) return;
    isPutIn.current = true;
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
    isPutIn.current = false;
  }, [value]);

  return (
    <div
      ref={box}
      data-editor={language}
      className={`overflow-hidden rounded-md border bg-raised focus-within:border-accent ${isInvalid ? "border-bad" : "border-strong-line"}`}
    />
  );
}
