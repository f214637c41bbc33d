import type { Fault } from "../../api.ts";
import { t } from "../../texts/text.ts";
import { readJson } from "../base/read-json.ts";
import { jsonProblem } from "../base/texts.ts";
import { Code } from "../editor/code.tsx";

/** Parses text as a JSON object, or returns an error. Empty text is an empty object. */
export function readObject(text: string): { value: Record<string, unknown> } | { problem: string } {
  if (text.trim() === "") return { value: {} };
  try {
    const value: unknown = readJson(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { value: value as Record<string, unknown> }
      : { problem: t("This must be a JSON object.") };
  } catch (error) {
    return { problem: jsonProblem(error) };
  }
}

interface Props {
  label: string;
  about: string;
  text: string;
  onChange: (text: string) => void;
  onSubmit?: () => void;
  /** Location of the object in the body. */
  name: string;
  faults: readonly Fault[];
  minHeight?: number;
}

/** A JSON object in the editor, with its errors below by location. */
export function JsonField({ label, about, text, onChange, onSubmit, name, faults, minHeight = 120 }: Props) {
  const read = readObject(text);
  const own = faults.filter(({ loc }) => loc[1] === name);
  const problems = "problem" in read ? [read.problem] : [];
  const messages = [
    ...problems,
    ...own.map(({ loc, msg }) => (loc.length > 2 ? `${loc.slice(2).join(".")}: ${msg}` : msg)),
  ];
  return (
    <div>
      <p className="mb-1 text-sm font-medium">{label}</p>
      <Code
        language="json"
        label={label}
        value={text}
        onChange={onChange}
        minHeight={minHeight}
        isInvalid={messages.length > 0}
        {...(onSubmit ? { onSubmit } : {})}
      />
      {messages.length > 0 && (
        <div role="alert">
          <ul className="mt-1 space-y-0.5 text-xs text-bad">
            {messages.map((each) => (
              <li key={each} className="[overflow-wrap:anywhere]">
                {each}
              </li>
            ))}
          </ul>
        </div>
      )}
      <p className="mt-1 text-xs text-soft">{about}</p>
    </div>
  );
}
