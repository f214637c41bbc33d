import { Plus, Trash2 } from "lucide-react";
import { useContext, useRef, useState } from "react";
import type { Schema } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { AddsDefaults, FieldPath, IsAnswer } from "./answer.ts";
import { Choices, TimeField } from "./field-answer.tsx";
import { asObject, type FieldProps, Frame, messagesOf } from "./field-frame.tsx";
import { JsonField } from "./field-json.tsx";
import { Pairs } from "./field-pairs.tsx";
import { Scalar } from "./field-scalar.tsx";
import { FilesHere } from "./files-here.ts";
import {
  aboutOf,
  type Drawn,
  drawnAs,
  emptyOf,
  isShort,
  propertiesOf,
  requiredOf,
  startValue,
  titleOf,
} from "./schema.ts";

/** Fields that show and edit text. */
const WITH_TEXT: readonly Drawn["as"][] = ["choice", "number", "time", "text", "json"];

/** A field of a generated form, as its schema requires. */
export function Field(field: FieldProps) {
  const path = useContext(FieldPath);
  return (
    <FieldPath value={[...path, field.name]}>
      <Drawing {...field} />
    </FieldPath>
  );
}

function Drawing(field: FieldProps) {
  const { name, schema, onChange } = field;
  const isAnswer = useContext(IsAnswer);
  const drawn = drawnAs(name, schema, isAnswer);
  const empty = isAnswer && field.isRequired ? emptyOf(schema) : undefined;
  const props = {
    ...field,
    isRequired: field.isRequired && empty !== null,
    onChange: (next: unknown) => onChange(next ?? empty),
  };
  // A template takes the place of any value.
  if (typeof props.value === "string" && !WITH_TEXT.includes(drawn.as))
    return <Scalar {...props} drawn={{ as: "text", isSecret: false, isLong: false }} />;
  switch (drawn.as) {
    case "group":
      return <Group {...props} of={drawn.of} />;
    case "items":
      return <Items {...props} of={drawn.of} />;
    case "variants":
      return <Variants {...props} drawn={drawn} />;
    case "shapes":
      return <Shapes {...props} of={drawn.of} />;
    case "pairs":
      return <Pairs {...props} of={drawn.of} />;
    case "choices":
      return <Choices {...props} options={drawn.options} />;
    case "time":
      return <TimeField {...props} type={drawn.type} />;
    case "json":
      return <JsonField {...props} />;
    default:
      return <Scalar {...props} drawn={drawn} />;
  }
}

/** Returns what the value of a nested form starts with. */
function useStart() {
  const isAnswer = useContext(IsAnswer);
  const addsDefaults = useContext(AddsDefaults);
  return (schema: Schema) => startValue(schema, isAnswer, addsDefaults);
}

/** The fields of an object, without its frame. */
function Inner({
  of,
  value,
  faults,
  onChange,
  tables,
  without,
}: Omit<FieldProps, "name" | "schema" | "isRequired"> & { of: Schema; without?: string }) {
  const now = asObject(value);
  const outer = useContext(FilesHere);
  const isAnswer = useContext(IsAnswer);
  const { connectionId } = now;
  return (
    <FilesHere value={typeof connectionId === "string" && connectionId !== "" ? connectionId : outer}>
      <div className="grid gap-3 @md:grid-cols-2">
        {propertiesOf(of)
          .filter(([name]) => name !== without)
          .map(([name, schema]) => (
            <div
              key={name}
              className={isShort(name, schema, isAnswer) ? "min-w-0" : "min-w-0 @md:col-span-2"}
            >
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
    </FilesHere>
  );
}

/** An optional object. */
function Group({ of, ...props }: FieldProps & { of: Schema }) {
  const { name, schema, isRequired, value, faults, onChange } = props;
  const start = useStart();
  const isThere = isRequired || (value ?? undefined) !== undefined;
  return (
    <Frame
      title={titleOf(name, schema)}
      about={aboutOf(schema)}
      fault={messagesOf(faults.filter(({ loc }) => loc.length === 0))}
      aside={
        !isRequired &&
        (isThere ? (
          <IconButton
            icon={Trash2}
            label={t("Remove {name}", { name: titleOf(name, schema) })}
            onClick={() => onChange(undefined)}
          />
        ) : (
          <Button kind="quiet" icon={Plus} onClick={() => onChange(start(of))}>
            {t("Set")}
          </Button>
        ))
      }
    >
      {isThere && <Inner {...props} of={of} />}
    </Frame>
  );
}

/** A list of objects. */
function Items({ of, ...props }: FieldProps & { of: Schema }) {
  const { name, schema, value, faults, onChange } = props;
  const items = Array.isArray(value) ? value : [];
  const list = useRef<HTMLOListElement>(null);
  const start = useStart();
  const add = () => {
    onChange([...items, start(of)]);
    // Focuses the first field of the new item.
    requestAnimationFrame(() =>
      list.current?.lastElementChild?.querySelector<HTMLElement>("input, textarea, select")?.focus(),
    );
  };
  return (
    <Frame
      title={titleOf(name, schema)}
      about={aboutOf(schema)}
      fault={messagesOf(faults.filter(({ loc }) => loc.length === 0))}
      aside={
        <Button kind="quiet" icon={Plus} onClick={add}>
          {t("Add")}
        </Button>
      }
    >
      {items.length > 0 && (
        <ol ref={list} className="space-y-3">
          {items.map((item, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the items have no IDs
            <li key={at} className="rounded-md border border-line p-3">
              <div className="mb-2 flex items-center justify-between text-xs text-soft">
                <span>{at + 1}</span>
                <IconButton
                  icon={Trash2}
                  label={t("Remove {name} {at}", { name: titleOf(name, schema), at: at + 1 })}
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

type Shape = Extract<Drawn, { as: "shapes" }>["of"][number];

/** The first shape with all fields of the value. */
const shapeOf = (of: readonly Shape[], value: unknown) =>
  of.find(({ schema }) => {
    const names = propertiesOf(schema).map(([name]) => name);
    return Object.keys(asObject(value)).every((name) => names.includes(name));
  }) ?? of[0];

/** An object with one of several shapes, selected by title. */
function Shapes({ of, ...props }: FieldProps & { of: readonly Shape[] }) {
  const { name, schema, isRequired, value, faults, onChange } = props;
  const start = useStart();
  const [picked, setPicked] = useState<string | null>(null);
  const isThere = isRequired || (value ?? undefined) !== undefined;
  const chosen = isThere ? (of.find((shape) => shape.name === picked) ?? shapeOf(of, value)) : undefined;
  return (
    <Frame
      title={titleOf(name, schema)}
      about={aboutOf(schema)}
      fault={messagesOf(faults.filter(({ loc }) => loc.length === 0))}
      aside={
        <select
          aria-label={titleOf(name, schema)}
          className="field my-1 w-auto"
          value={chosen?.name ?? ""}
          onChange={({ target }) => {
            const shape = of.find((each) => each.name === target.value);
            setPicked(shape?.name ?? null);
            onChange(shape ? start(shape.schema) : undefined);
          }}
        >
          {!isRequired && <option value="">{t("None")}</option>}
          {of.map((shape) => (
            <option key={shape.name}>{shape.name}</option>
          ))}
        </select>
      }
    >
      {chosen && <Inner {...props} of={chosen.schema} />}
    </Frame>
  );
}

/** An object with one of several shapes, distinguished by a field. */
function Variants({ drawn, ...props }: FieldProps & { drawn: Extract<Drawn, { as: "variants" }> }) {
  const { name, schema, isRequired, value, faults, onChange } = props;
  const start = useStart();
  const isAnswer = useContext(IsAnswer);
  const chosen = drawn.of.find((variant) => variant.name === asObject(value)[drawn.tag]);
  const fault = messagesOf(faults.filter(({ loc }) => loc.length === 0 || loc[0] === drawn.tag));
  return (
    <Frame
      title={titleOf(name, schema)}
      isRequired={isRequired}
      about={aboutOf(schema)}
      fault={fault}
      aside={
        <select
          aria-required={isRequired}
          aria-invalid={fault !== undefined}
          aria-label={titleOf(name, schema)}
          className="field my-1 w-auto"
          value={chosen?.name ?? ""}
          onChange={({ target }) => {
            const variant = drawn.of.find((each) => each.name === target.value);
            onChange(variant && { ...(isAnswer && start(variant.schema)), [drawn.tag]: variant.name });
          }}
        >
          {!(isRequired && chosen) && <option value="">{isRequired ? t("Select") : t("None")}</option>}
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
