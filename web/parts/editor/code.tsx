import { useContext } from "react";
import { Later, part } from "../base/later.tsx";
import type { Tables } from "../base/table-name.ts";
import { InputPaths, TemplatePaths } from "./template-paths.ts";

export interface CodeProps {
  value: string;
  onChange: (value: string) => void;
  language: "json" | "sql" | "markdown" | "typescript";
  label: string;
  /** Tables that SQL is completed with. */
  tables?: Tables;
  /** Ctrl-Enter. */
  onSubmit?: () => void;
  minHeight?: number;
  isInvalid?: boolean;
  /** For Markdown: completions in its front matter. */
  words?: readonly { name: string; about: string }[];
  /** Lines with errors, counted from 1. */
  badLines?: readonly number[];
}

const editor = part(() => import("./editor.tsx"));

/** A code editor. Its code is loaded on first use. */
export function Code(props: CodeProps) {
  const paths = useContext(props.language === "typescript" ? InputPaths : TemplatePaths);
  return (
    <Later
      of={editor}
      props={{ ...props, paths }}
      waiting={
        <pre
          aria-busy="true"
          className="field overflow-hidden font-mono text-xs whitespace-pre-wrap"
          style={{ minHeight: props.minHeight ?? 120 }}
        >
          {props.value}
        </pre>
      }
    />
  );
}
