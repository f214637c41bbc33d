import { type ReactNode, useRef, useState } from "react";
import { t } from "../../texts/text.ts";
import { showProblem } from "../base/problem.ts";
import { readJson } from "../base/read-json.ts";
import type { Tables } from "../base/table-name.ts";
import { jsonProblem } from "../base/texts.ts";
import { Code } from "../editor/code.tsx";
import type { Values } from "./form.tsx";

interface Props {
  label: string;
  /** Error message, such as "A definition must be an object." */
  wrong: string;
  value: Values;
  onChange: (value: Values) => void;
  /** Reports why the JSON is invalid. Null if it can be saved. */
  onProblem: (problem: string | null) => void;
  /** False if the value can't be edited as a form. */
  canDraw?: boolean;
  /** Shown above the JSON. */
  faults?: ReactNode;
  tables?: Tables;
  minHeight?: number;
  form: () => ReactNode;
}

/** A definition as a form or as JSON. */
export function FormOrJson({ canDraw = true, value, onChange, onProblem, ...rest }: Props) {
  const [chosen, setChosen] = useState<"form" | "json">("form");
  const way = canDraw ? chosen : "json";
  const [typed, setTyped] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const text = typed ?? JSON.stringify(value, null, 2);
  const turn = (to: "form" | "json") => {
    if (showProblem(box.current)) return;
    setTyped(null);
    setChosen(to);
  };
  const read = (next: string) => {
    setTyped(next);
    let message: string | null = null;
    try {
      const parsed: unknown = next.trim() === "" ? {} : readJson(next, ["definition"]);
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) message = rest.wrong;
      else onChange(parsed as Values);
    } catch (error) {
      message = jsonProblem(error);
    }
    setProblem(message);
    onProblem(message);
  };
  return (
    <div ref={box}>
      <fieldset className="mb-4 inline-flex rounded-md border border-strong-line p-0.5">
        <legend className="sr-only">{t("Edit as")}</legend>
        {(["form", "json"] as const).map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={way === each}
            disabled={each === "form" && (!canDraw || problem !== null)}
            onClick={() => turn(each)}
            className={`rounded px-3 py-1 text-xs font-medium ${way === each ? "bg-accent-soft text-accent-strong" : "text-soft hover:text-ink"}`}
          >
            {each === "form" ? t("Form") : "JSON"}
          </button>
        ))}
      </fieldset>
      {!canDraw && <p className="mb-3 text-sm text-soft">{t("This can only be edited as JSON.")}</p>}
      {way === "form" ? (
        rest.form()
      ) : (
        <>
          {rest.faults}
          <Code
            language="json"
            label={rest.label}
            value={text}
            onChange={read}
            minHeight={rest.minHeight ?? 260}
            isInvalid={problem !== null}
            {...(rest.tables ? { tables: rest.tables } : {})}
          />
          {problem && (
            <p data-problem className="mt-1 text-xs text-bad">
              {problem}
            </p>
          )}
        </>
      )}
    </div>
  );
}
