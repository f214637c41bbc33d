import { useState } from "react";
import { Labelled } from "../base/labelled.tsx";
import { refusing } from "../base/problem.ts";
import { readJson } from "../base/read-json.ts";
import { jsonProblem } from "../base/texts.ts";
import { useUnsaved } from "../base/unsaved.tsx";
import { type FieldProps, messagesOf } from "./field-frame.tsx";
import { aboutOf, titleOf } from "./schema.ts";

/** A field as JSON, for values that have no form. */
export function JsonField({ name, schema, isRequired, value, faults, onChange }: FieldProps) {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const isTyped = problem !== null || JSON.stringify(readField(typed).value) === JSON.stringify(value);
  useUnsaved(problem !== null);
  const text = isTyped ? typed : JSON.stringify(value, null, 2);
  return (
    <Labelled
      label={titleOf(name, schema)}
      isRequired={isRequired}
      about={aboutOf(schema) ?? "JSON"}
      fault={problem ?? messagesOf(faults)}
    >
      {(wiring) => (
        <textarea
          {...wiring}
          {...refusing(problem)}
          className="field font-mono text-xs"
          rows={Math.min(Math.max(text.split("\n").length, 2), 14)}
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setTyped(event.target.value);
            const read = readField(event.target.value);
            setProblem(read.problem);
            if (read.problem === null) onChange(read.value);
          }}
        />
      )}
    </Labelled>
  );
}

/** Parses text as JSON. Empty text means no value, and a bare template or word is a string. */
function readField(text: string): { value: unknown; problem: string | null } {
  if (text.trim() === "") return { value: undefined, problem: null };
  try {
    return { value: readJson(text), problem: null };
  } catch (error) {
    if (/^[^[{"]/.test(text.trim()) || /^\{\{.*\}\}$/s.test(text.trim()))
      return { value: text.trim(), problem: null };
    return { value: undefined, problem: jsonProblem(error) };
  }
}
