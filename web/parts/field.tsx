import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Fault } from "../api.ts";
import type { Schema } from "../calls.ts";
import { Button, IconButton } from "./button.tsx";
import { Code } from "./code.tsx";
import { Labelled } from "./labelled.tsx";
import {
  aboutOf,
  type Drawn,
  drawnAs,
  isShort,
  propertiesOf,
  requiredOf,
  startValue,
  titleOf,
} from "./schema.ts";

interface Props {
  name: string;
  schema: Schema;
  isRequired: boolean;
  value: unknown;
  /** With places below this field. */
  faults: readonly Fault[];
  onChange: (value: unknown) => void;
  tables?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** One field of a generated form, in the way that its schema asks for. */
export function Field(props: Props) {
  const { name, schema } = props;
  const drawn = drawnAs(name, schema);
  switch (drawn.as) {
    case "group":
      return <Group {...props} of={drawn.of} />;
    case "items":
      return <Items {...props} of={drawn.of} />;
    case "variants":
      return <Variants {...props} drawn={drawn} />;
    case "pairs":
      return <Pairs {...props} />;
    case "json":
      return <JsonField {...props} />;
    default:
      return <Scalar {...props} drawn={drawn} />;
  }
}

const told = (faults: readonly Fault[]) =>
  faults.length === 0
    ? undefined
    : faults.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join(".")}: ${msg}` : msg)).join("; ");

type ScalarDrawn = Extract<Drawn, { as: "choice" | "yes" | "number" | "text" | "lines" }>;

function Scalar({
  name,
  schema,
  isRequired,
  value,
  faults,
  onChange,
  drawn,
  tables,
}: Props & { drawn: ScalarDrawn }) {
  const fallback = schema.default;
  const hint = fallback === undefined || typeof fallback === "object" ? "" : String(fallback);
  const title = titleOf(name, schema);
  if (drawn.as === "yes") {
    const isOn = typeof value === "boolean" ? value : fallback === true;
    return (
      <Labelled label={title} about={aboutOf(schema)} fault={told(faults)}>
        {(wiring) => (
          <input
            {...wiring}
            type="checkbox"
            className="size-4 accent-accent"
            checked={isOn}
            onChange={(event) => onChange(event.target.checked)}
          />
        )}
      </Labelled>
    );
  }
  const about =
    drawn.as === "choice"
      ? (drawn.options.find((option) => option.value === value)?.about ?? aboutOf(schema))
      : aboutOf(schema);
  return (
    <Labelled
      label={title}
      isRequired={isRequired}
      about={drawn.as === "lines" ? [about, "One per line."].filter(Boolean).join(" ") : about}
      fault={told(faults)}
    >
      {(wiring) => {
        if (drawn.as === "choice") {
          return (
            <select
              {...wiring}
              className="field"
              value={typeof value === "string" ? value : ""}
              onChange={(event) => onChange(event.target.value || undefined)}
            >
              {!(isRequired && typeof value === "string") && (
                <option value="">{hint ? `${hint} (default)` : "–"}</option>
              )}
              {drawn.options.map((option) => (
                <option key={option.value}>{option.value}</option>
              ))}
            </select>
          );
        }
        if (drawn.as === "lines")
          return <Lines wiring={wiring} isNumber={drawn.isNumber} value={value} onChange={onChange} />;
        if (drawn.as === "text" && name === "sql") {
          return (
            <Code
              language="sql"
              label={title}
              value={typeof value === "string" ? value : ""}
              isInvalid={faults.length > 0}
              onChange={(text) => onChange(text || undefined)}
              minHeight={160}
              {...(tables ? { tables } : {})}
            />
          );
        }
        const text = value === undefined || value === null ? "" : String(value);
        if (drawn.as === "text" && drawn.isLong) {
          return (
            <textarea
              {...wiring}
              rows={3}
              className="field"
              value={text}
              placeholder={hint}
              onChange={(event) => onChange(event.target.value || undefined)}
            />
          );
        }
        return (
          <input
            {...wiring}
            className="field"
            type={drawn.as === "text" && drawn.isSecret ? "password" : "text"}
            inputMode={drawn.as === "number" ? "decimal" : undefined}
            autoComplete={drawn.as === "text" && drawn.isSecret ? "new-password" : "off"}
            spellCheck={false}
            placeholder={hint}
            value={text}
            onChange={(event) =>
              onChange(drawn.as === "number" ? toNumber(event.target.value) : event.target.value || undefined)
            }
          />
        );
      }}
    </Labelled>
  );
}

/** Templates, and what is no number, stay text: the API says what is wrong with it. */
const toNumber = (text: string): unknown =>
  text === "" ? undefined : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;

function Lines({
  wiring,
  isNumber,
  value,
  onChange,
}: {
  wiring: object;
  isNumber: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const [text, setText] = useState(Array.isArray(value) ? value.join("\n") : "");
  return (
    <textarea
      {...wiring}
      rows={Math.min(Math.max(text.split("\n").length, 1), 8)}
      className="field font-mono text-xs"
      spellCheck={false}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
        const lines = event.target.value
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean);
        onChange(lines.length === 0 ? undefined : isNumber ? lines.map(toNumber) : lines);
      }}
    />
  );
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/** The fields of an object, without its frame. */
function Inner({
  of,
  value,
  faults,
  onChange,
  tables,
  without,
}: Omit<Props, "name" | "schema" | "isRequired"> & { of: Schema; without?: string }) {
  const now = asObject(value);
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {propertiesOf(of)
        .filter(([name]) => name !== without)
        .map(([name, schema]) => (
          <div key={name} className={isShort(name, schema) ? "min-w-0" : "min-w-0 sm:col-span-2"}>
            <Field
              name={name}
              schema={schema}
              isRequired={requiredOf(of).includes(name)}
              value={now[name]}
              faults={faults
                .filter(({ loc }) => loc[0] === name)
                .map((fault) => ({ ...fault, loc: fault.loc.slice(1) }))}
              onChange={(next) => {
                const after = { ...now };
                if (next === undefined) delete after[name];
                else after[name] = next;
                onChange(after);
              }}
              tables={tables}
            />
          </div>
        ))}
    </div>
  );
}

function Frame({
  title,
  about,
  fault,
  aside,
  children,
}: {
  title: string;
  about?: string | null;
  fault?: string | undefined;
  aside?: React.ReactNode;
  children?: React.ReactNode;
}) {
  return (
    <fieldset
      className="min-w-0 rounded-md border border-line"
      aria-invalid={fault ? true : undefined}
      tabIndex={-1}
    >
      <legend className="sr-only">{title}</legend>
      <div className="flex min-h-9 items-center justify-between gap-2 px-3 text-sm">
        <span>
          <span className="font-medium">{title}</span>
          {about && <span className="ml-2 text-xs text-soft">{about}</span>}
        </span>
        {aside}
      </div>
      {fault && <p className="px-3 pb-2 text-xs text-bad">{fault}</p>}
      {children && <div className="border-t border-line p-3">{children}</div>}
    </fieldset>
  );
}

function Group({ of, ...props }: Props & { of: Schema }) {
  const { name, schema, isRequired, value, faults, onChange } = props;
  const isThere = isRequired || value !== undefined;
  return (
    <Frame
      title={titleOf(name, schema)}
      about={aboutOf(schema)}
      fault={told(faults.filter(({ loc }) => loc.length === 0))}
      aside={
        !isRequired &&
        (isThere ? (
          <IconButton
            icon={Trash2}
            label={`Remove ${titleOf(name, schema)}`}
            onClick={() => onChange(undefined)}
          />
        ) : (
          <Button kind="quiet" icon={Plus} onClick={() => onChange(startValue(of))}>
            Set
          </Button>
        ))
      }
    >
      {isThere && <Inner {...props} of={of} />}
    </Frame>
  );
}

function Items({ of, ...props }: Props & { of: Schema }) {
  const { name, schema, value, faults, onChange } = props;
  const items = Array.isArray(value) ? value : [];
  return (
    <Frame
      title={titleOf(name, schema)}
      about={aboutOf(schema)}
      fault={told(faults.filter(({ loc }) => loc.length === 0))}
      aside={
        <Button kind="quiet" icon={Plus} onClick={() => onChange([...items, startValue(of)])}>
          Add
        </Button>
      }
    >
      {items.length > 0 && (
        <ol className="space-y-3">
          {items.map((item, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the items have nothing else to be known by
            <li key={at} className="rounded-md border border-line p-3">
              <div className="mb-2 flex items-center justify-between text-xs text-soft">
                <span>
                  {titleOf(name, schema)} {at + 1}
                </span>
                <IconButton
                  icon={Trash2}
                  label={`Remove ${titleOf(name, schema)} ${at + 1}`}
                  onClick={() =>
                    onChange(items.length === 1 ? undefined : items.filter((_, index) => index !== at))
                  }
                />
              </div>
              <Inner
                of={of}
                value={item}
                faults={faults
                  .filter(({ loc }) => loc[0] === String(at))
                  .map((fault) => ({ ...fault, loc: fault.loc.slice(1) }))}
                onChange={(next) => onChange(items.map((each, index) => (index === at ? next : each)))}
                tables={props.tables}
              />
            </li>
          ))}
        </ol>
      )}
    </Frame>
  );
}

function Variants({ drawn, ...props }: Props & { drawn: Extract<Drawn, { as: "variants" }> }) {
  const { name, schema, isRequired, value, faults, onChange } = props;
  const chosen = drawn.of.find((variant) => variant.name === asObject(value)[drawn.tag]);
  return (
    <Frame
      title={titleOf(name, schema)}
      about={aboutOf(schema)}
      fault={told(faults.filter(({ loc }) => loc.length === 0 || loc[0] === drawn.tag))}
      aside={
        <select
          aria-label={titleOf(name, schema)}
          className="field my-1 w-auto"
          value={chosen?.name ?? ""}
          onChange={(event) => onChange(event.target.value ? { [drawn.tag]: event.target.value } : undefined)}
        >
          {!(isRequired && chosen) && <option value="">None</option>}
          {drawn.of.map((variant) => (
            <option key={variant.name}>{variant.name}</option>
          ))}
        </select>
      }
    >
      {chosen && <Inner {...props} of={chosen.schema} without={drawn.tag} />}
    </Frame>
  );
}

interface Pair {
  name: string;
  value: string;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function Pairs({ name, schema, value, faults, onChange }: Props) {
  const [pairs, setPairs] = useState<Pair[]>(() =>
    Object.entries(asObject(value)).map(([key, of]) => ({ name: key, value: asText(of) })),
  );
  const put = (next: Pair[]) => {
    setPairs(next);
    const named = next.filter((pair) => pair.name !== "");
    onChange(
      named.length === 0 ? undefined : Object.fromEntries(named.map((pair) => [pair.name, pair.value])),
    );
  };
  const title = titleOf(name, schema);
  return (
    <Frame
      title={title}
      about={aboutOf(schema)}
      fault={told(faults)}
      aside={
        <Button kind="quiet" icon={Plus} onClick={() => setPairs([...pairs, { name: "", value: "" }])}>
          Add
        </Button>
      }
    >
      {pairs.length > 0 && (
        <div className="space-y-2">
          {pairs.map((pair, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a pair's name changes while it is typed
            <div key={at} className="flex items-center gap-2">
              <input
                aria-label={`${title}: name ${at + 1}`}
                className="field max-w-48 font-mono text-xs"
                value={pair.name}
                onChange={(event) =>
                  put(
                    pairs.map((each, index) => (index === at ? { ...each, name: event.target.value } : each)),
                  )
                }
              />
              <input
                aria-label={`${title}: value ${at + 1}`}
                className="field font-mono text-xs"
                value={pair.value}
                onChange={(event) =>
                  put(
                    pairs.map((each, index) =>
                      index === at ? { ...each, value: event.target.value } : each,
                    ),
                  )
                }
              />
              <IconButton
                icon={Trash2}
                label={`Remove ${title} ${at + 1}`}
                onClick={() => put(pairs.filter((_, index) => index !== at))}
              />
            </div>
          ))}
        </div>
      )}
    </Frame>
  );
}

function JsonField({ name, schema, isRequired, value, faults, onChange }: Props) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <Labelled
      label={titleOf(name, schema)}
      isRequired={isRequired}
      about={aboutOf(schema) ?? "JSON"}
      fault={problem ?? told(faults)}
    >
      {(wiring) => (
        <textarea
          {...wiring}
          className="field font-mono text-xs"
          rows={Math.min(Math.max(text.split("\n").length, 2), 14)}
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            const read = readJson(event.target.value);
            setProblem(read.problem);
            if (read.problem === null) onChange(read.value);
          }}
        />
      )}
    </Labelled>
  );
}

/** Text as JSON; nothing at all is no value. A bare template or word counts as a text. */
function readJson(text: string): { value: unknown; problem: string | null } {
  if (text.trim() === "") return { value: undefined, problem: null };
  try {
    return { value: JSON.parse(text), problem: null };
  } catch (error) {
    if (/^[^[{"]/.test(text.trim()) || /^\{\{.*\}\}$/s.test(text.trim()))
      return { value: text.trim(), problem: null };
    return { value: undefined, problem: error instanceof Error ? error.message : "This is not JSON." };
  }
}
