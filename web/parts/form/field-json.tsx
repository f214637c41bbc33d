import { useContext, useState } from "react";
import { Labelled } from "../base/labelled.tsx";
import { refusing } from "../base/problem.ts";
import { useUnsaved } from "../base/unsaved.tsx";
import { FieldPath } from "./answer.ts";
import { type FieldProps, messagesOf } from "./field-frame.tsx";
import { aboutOf, titleOf } from "./schema.ts";
import { isSame, readField } from "./typed.ts";

/** A field as JSON, for values that have no form. */
export function JsonField({ name, schema, isRequired, value, faults, onChange }: FieldProps) {
  const path = useContext(FieldPath);
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const isTyped = problem !== null || isSame(readField(typed, path).value, value);
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
            const read = readField(event.target.value, path);
            setProblem(read.problem);
            if (read.problem === null) onChange(read.value);
          }}
        />
      )}
    </Labelled>
  );
}
