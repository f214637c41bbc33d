import type { Fault } from "../../api.ts";
import type { Template } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { TextField } from "../base/labelled.tsx";
import { named } from "../base/named.ts";
import { JsonField, readObject } from "../form/json-text.tsx";

export type TemplateType = Template["templateType"];

export const TYPES = named<TemplateType>({
  connection: t("Connection"),
  action: t("Action"),
  bundle: t("Bundle"),
});

export const typeName = (type: TemplateType): string => TYPES.find(([id]) => id === type)?.[1] ?? type;

/** Fields of a template, as text in the form. */
export interface TemplateText {
  displayName: string;
  description: string;
  definition: string;
  inputJsonSchema: string;
  inputDefaults: string;
}

export const PARTS = ["definition", "inputJsonSchema", "inputDefaults"] as const;

const written = (value: object) => (Object.keys(value).length === 0 ? "" : JSON.stringify(value, null, 2));

export const textOf = (template: Template): TemplateText => ({
  displayName: template.displayName,
  description: template.description ?? "",
  definition: JSON.stringify(template.definition, null, 2),
  inputJsonSchema: written(template.inputJsonSchema),
  inputDefaults: written(template.inputDefaults),
});

/** Returns whether all parts are valid JSON. */
export const isReadable = (text: TemplateText): boolean =>
  PARTS.every((part) => "value" in readObject(text[part]));

/** Parses the typed objects. Invalid ones are empty. */
export function valuesOf(text: TemplateText) {
  const value = (part: (typeof PARTS)[number]) => {
    const read = readObject(text[part]);
    return ("value" in read ? read.value : {}) as never;
  };
  return {
    displayName: text.displayName,
    description: text.description === "" ? null : text.description,
    definition: value("definition"),
    inputJsonSchema: value("inputJsonSchema"),
    inputDefaults: value("inputDefaults"),
  };
}

const ABOUT: Readonly<Record<TemplateType, string>> = {
  connection: t("{shape}: the requests of an HTTP API, and the settings it needs.", {
    shape: "{http, configSchema, credentialsSchema}",
  }),
  action: t("Definition of the action. {expression} is replaced with an input.", {
    expression: "{{inputs.name}}",
  }),
  bundle: t(
    "{shape}, each with key, type, name, and definition or templateSlug. {expression} refers to another component.",
    { shape: "{components: […]}", expression: "{{components.key.id}}" },
  ),
};

interface Props {
  type: TemplateType;
  text: TemplateText;
  onChange: (text: TemplateText) => void;
  faults: readonly Fault[];
  onSubmit: () => void;
}

/** The JSON parts of a template. */
export function TemplateParts({ type, text, onChange, faults, onSubmit }: Props) {
  const put = (change: Partial<TemplateText>) => onChange({ ...text, ...change });
  return (
    <div className="space-y-5">
      <JsonField
        label={t("Definition")}
        about={ABOUT[type]}
        name="definition"
        text={text.definition}
        onChange={(definition) => put({ definition })}
        faults={faults}
        minHeight={240}
        onSubmit={onSubmit}
      />
      <JsonField
        label={t("Input schema")}
        about={t("JSON Schema of the inputs. The installation form is generated from it.")}
        name="inputJsonSchema"
        text={text.inputJsonSchema}
        onChange={(inputJsonSchema) => put({ inputJsonSchema })}
        faults={faults}
        onSubmit={onSubmit}
      />
      <JsonField
        label={t("Input defaults")}
        about={t("Values for inputs left empty.")}
        name="inputDefaults"
        text={text.inputDefaults}
        onChange={(inputDefaults) => put({ inputDefaults })}
        faults={faults}
        minHeight={60}
        onSubmit={onSubmit}
      />
    </div>
  );
}

/** Name and purpose. */
export function TemplateNames({
  text,
  onChange,
  messageFor,
}: Pick<Props, "text" | "onChange"> & {
  messageFor: (field: string) => string | undefined;
}) {
  return (
    <>
      <TextField
        label={t("Name")}
        isRequired
        value={text.displayName}
        onChange={(displayName) => onChange({ ...text, displayName })}
        fault={messageFor("displayName")}
        maxLength={255}
      />
      <TextField
        label={t("Description")}
        value={text.description}
        onChange={(description) => onChange({ ...text, description })}
        fault={messageFor("description")}
        maxLength={4096}
      />
    </>
  );
}
