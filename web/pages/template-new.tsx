import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useChange } from "../data.ts";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { Labelled, TextField } from "../parts/base/labelled.tsx";
import { PageHead } from "../parts/base/page.tsx";
import { FormFrame, faultsOf, messagesBy } from "../parts/form/frame.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import {
  isReadable,
  PARTS,
  TemplateNames,
  TemplateParts,
  type TemplateText,
  type TemplateType,
  TYPES,
  valuesOf,
} from "../parts/templates/fields.tsx";
import { t } from "../texts/text.ts";

const asJson = (value: object) => JSON.stringify(value, null, 2);

/** A small example of each type that can be saved unchanged. */
const STARTS: Readonly<Record<TemplateType, Pick<TemplateText, "definition" | "inputJsonSchema">>> = {
  connection: {
    definition: asJson({
      http: { baseUrl: "{{config.baseUrl}}", auth: { type: "bearer" }, verify: { path: "/" } },
      configSchema: {
        type: "object",
        properties: { baseUrl: { type: "string", format: "uri" } },
        required: ["baseUrl"],
      },
      credentialsSchema: {
        type: "object",
        properties: { token: { type: "string" } },
        required: ["token"],
      },
    }),
    inputJsonSchema: "",
  },
  action: {
    definition: asJson({ url: "{{inputs.path}}" }),
    inputJsonSchema: asJson({
      type: "object",
      properties: { path: { type: "string", title: t("Path") } },
      required: ["path"],
    }),
  },
  bundle: {
    definition: asJson({
      components: [
        {
          key: "files",
          type: "connection",
          name: t("Files"),
          definition: { provider: "local_files", config: { root: "{{inputs.folder}}" } },
        },
      ],
    }),
    inputJsonSchema: asJson({
      type: "object",
      properties: { folder: { type: "string", title: t("Folder"), default: "inbox" } },
    }),
  },
};

const startOf = (type: TemplateType): TemplateText => ({
  displayName: "",
  description: "",
  inputDefaults: "",
  ...STARTS[type],
});

export default function NewTemplate() {
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const type = TYPES.find(([id]) => id === search.get("type"))?.[0] ?? "action";
  const [text, setText] = useState(() => startOf(type));
  const [slug, setSlug] = useState("");
  const [kind, setKind] = useState("http_request");
  const kinds = useActionKinds();
  const create = useChange("POST /api/v1/templates", {
    touches: ["/templates"],
    tellsErrors: false,
    done: ({ displayName }) => t("{displayName} created as a draft", { displayName }),
    onDone: ({ id }) => go(`/templates/${id}`),
  });
  const messageFor = messagesBy(create.error);
  const send = () =>
    isReadable(text) &&
    create.mutate({
      body: { ...valuesOf(text), slug, templateType: type, ...(type === "action" ? { kind } : {}) },
    });
  return (
    <>
      <PageHead
        title={t("New template")}
        from={[["/templates", t("Templates")]]}
        about={t("A new template is a draft until you publish it.")}
      />
      <MembersOnly title={t("You need the member role to create templates")}>
        <FormFrame
          title={t("Template")}
          call={create}
          drawn={["slug", "displayName", "description", "kind", ...PARTS]}
          isReady={isReadable(text)}
          verb={t("Create draft")}
          onSend={send}
        >
          <div className="mb-5 grid gap-4 sm:grid-cols-2">
            <Labelled label={t("Type")}>
              {(wiring) => (
                <select
                  {...wiring}
                  className="field"
                  value={type}
                  onChange={(event) => {
                    const next = event.target.value as TemplateType;
                    setSearch({ type: next }, { replace: true });
                    setText({ ...text, ...STARTS[next] });
                  }}
                >
                  {TYPES.map(([id, name]) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
                </select>
              )}
            </Labelled>
            {type === "action" ? (
              <Labelled label={t("Kind")} fault={messageFor("kind")}>
                {(wiring) => (
                  <select
                    {...wiring}
                    className="field"
                    value={kind}
                    onChange={(event) => setKind(event.target.value)}
                  >
                    {kinds.data?.kinds.map((each) => (
                      <option key={each.kind} value={each.kind}>
                        {each.title}
                      </option>
                    ))}
                  </select>
                )}
              </Labelled>
            ) : (
              <span className="max-sm:hidden" />
            )}
            <TemplateNames text={text} onChange={setText} messageFor={messageFor} />
            <TextField
              label={t("Slug")}
              isRequired
              value={slug}
              onChange={setSlug}
              fault={messageFor("slug")}
              about={t("Identifier in bundles and the API. All versions share it.")}
              maxLength={100}
            />
          </div>
          <TemplateParts
            type={type}
            text={text}
            onChange={setText}
            faults={faultsOf(create.error)}
            onSubmit={send}
          />
        </FormFrame>
      </MembersOnly>
    </>
  );
}
