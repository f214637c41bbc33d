import { Plus, Trash2 } from "lucide-react";
import { useContext, useState } from "react";
import type { Json } from "../../../src/base/json.ts";
import { taggedNumber } from "../../../src/base/parameter-numbers.ts";
import type { Schema } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { refusing } from "../base/problem.ts";
import { useUnsaved } from "../base/unsaved.tsx";
import { TemplateText } from "../editor/template-text.tsx";
import { FieldPath } from "./answer.ts";
import { asObject, type FieldProps, Frame, messagesOf } from "./field-frame.tsx";
import { Choice, yesOrNo } from "./field-scalar.tsx";
import { aboutOf, allowsText, drawnAs, isAny, isScalar, titleOf } from "./schema.ts";
import { isSame, readField } from "./typed.ts";

interface Pair {
  name: string;
  /** Keys of the object in the request's body. */
  path: readonly string[];
  /** Unchanged until the text is edited. */
  value: unknown;
  text: string;
  /** Whether the text is JSON, which can also be a bare word or a template. */
  isJson: boolean;
}

function pairOf(name: string, value: unknown, path: readonly string[], hasText: boolean): Pair {
  const isText = typeof value === "string";
  const pair = {
    name,
    path,
    value,
    text: isText ? value : JSON.stringify(value),
    isJson: !isText || !hasText,
  };
  const digits = { ...pair, text: String(taggedNumber(value as Json)) };
  return isSame(readPair(digits).value, value) ? digits : pair; // {"$number": "…"}, as it is stored
}

const readPair = ({ name, path, text, isJson }: Pair) =>
  isJson ? readField(text, [...path, name]) : { value: text, problem: null };

const objectOf = (pairs: readonly Pair[]) =>
  Object.fromEntries(pairs.filter(({ name }) => name !== "").map(({ name, value }) => [name, value]));

/** The pair after a change of its text or type. An invalid text changes no value. */
function edited(pair: Pair): Pair {
  const { value = "", problem } = readPair(pair);
  return problem === null ? { ...pair, value } : pair;
}

function nameFault(pairs: readonly Pair[], at: number): string | null {
  const { name, text } = pairs[at] as Pair;
  if (name === "") return text === "" ? null : t("Enter a name.");
  return pairs.findIndex((pair) => pair.name === name) < at ? t("This name is already used.") : null;
}

const hasFault = (pairs: readonly Pair[]) =>
  pairs.some((pair, at) => nameFault(pairs, at) !== null || readPair(pair).problem !== null);

/** Options of the values. Null if they are typed. */
function optionsOf(of: Schema) {
  const drawn = drawnAs("", of);
  return drawn.as === "yes" ? yesOrNo() : drawn.as === "choice" ? drawn.options : null;
}

/** An object with arbitrary names, such as headers. It changes only while all of its names and values can be used. */
export function Pairs({ name, schema, value, faults, onChange, of }: FieldProps & { of: Schema }) {
  const path = useContext(FieldPath);
  const hasText = allowsText(of);
  /** Pairs as written, and the object to which they belong. */
  const [written, setWritten] = useState({ pairs: [] as readonly Pair[], object: {} });
  // Other parts of the form can change the value too.
  const pairs = isSame(written.object, asObject(value))
    ? written.pairs
    : Object.entries(asObject(value)).map(([key, each]) => pairOf(key, each, path, hasText));
  useUnsaved(hasFault(pairs));
  const put = (next: readonly Pair[]) => {
    if (hasFault(next)) return setWritten({ pairs: next, object: asObject(value) });
    const object = objectOf(next);
    setWritten({ pairs: next, object });
    onChange(Object.keys(object).length === 0 ? undefined : object);
  };
  const title = titleOf(name, schema);
  return (
    <Frame
      title={title}
      about={aboutOf(schema)}
      fault={messagesOf(faults)}
      aside={
        <Button
          kind="quiet"
          icon={Plus}
          onClick={() =>
            setWritten({
              pairs: [...pairs, { name: "", path, value: "", text: "", isJson: isAny(of) || !hasText }],
              object: asObject(value),
            })
          }
        >
          {t("Add")}
        </Button>
      }
    >
      {pairs.length > 0 && (
        <div className="space-y-2">
          {pairs.map((pair, at) => (
            <PairFields
              // biome-ignore lint/suspicious/noArrayIndexKey: a pair's name changes while it is typed
              key={at}
              title={title}
              number={at + 1}
              pair={pair}
              of={of}
              nameFault={nameFault(pairs, at)}
              onChange={(next) => put(pairs.with(at, next))}
              onRemove={() => put(pairs.filter((_, index) => index !== at))}
            />
          ))}
        </div>
      )}
    </Frame>
  );
}

interface PairProps {
  title: string;
  number: number;
  pair: Pair;
  of: Schema;
  nameFault: string | null;
  onChange: (pair: Pair) => void;
  onRemove: () => void;
}

function PairFields({ title, number, pair, of, nameFault, onChange, onRemove }: PairProps) {
  const { problem } = readPair(pair);
  const options = optionsOf(of);
  const hasTypes = options === null && allowsText(of) && (!isScalar(of) || pair.isJson);
  const value = {
    "aria-label": t("{title}: value {at}", { title, at: number }),
    "aria-invalid": problem ? (true as const) : undefined,
  };
  const write = (text: string) => onChange(edited({ ...pair, text }));
  const fault = nameFault ?? problem;
  return (
    <div>
      <div className={`flex items-center gap-2 ${hasTypes ? "flex-wrap @md:flex-nowrap" : ""}`}>
        <input
          {...refusing(nameFault)}
          aria-label={t("{title}: name {at}", { title, at: number })}
          aria-invalid={nameFault ? true : undefined}
          className={`field max-w-48 font-mono text-xs ${hasTypes ? "w-0! grow" : ""}`}
          value={pair.name}
          onChange={({ target }) => onChange({ ...pair, name: target.value })}
        />
        {hasTypes && (
          <select
            aria-label={t("{title}: type {at}", { title, at: number })}
            className="field w-auto text-xs"
            value={pair.isJson ? "json" : "text"}
            onChange={({ target }) => onChange(edited({ ...pair, isJson: target.value === "json" }))}
          >
            <option value="text">{t("Text")}</option>
            <option value="json">JSON</option>
          </select>
        )}
        <div className={`grow ${hasTypes ? "order-last basis-full @md:order-none @md:basis-auto" : ""}`}>
          {options ? (
            <Choice
              wiring={value}
              value={pair.text}
              options={options}
              none="–"
              isRequired={false}
              onChange={write}
            />
          ) : (
            <TemplateText
              {...value}
              className="font-mono text-xs"
              value={pair.text}
              problem={problem}
              onChange={write}
            />
          )}
        </div>
        <IconButton
          icon={Trash2}
          label={t("Remove {title} {at}", { title, at: number })}
          onClick={onRemove}
        />
      </div>
      {fault && <p className="mt-1 text-xs text-bad">{fault}</p>}
    </div>
  );
}
