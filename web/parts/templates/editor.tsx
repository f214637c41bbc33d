import { useState } from "react";
import { useLocation } from "wouter";
import type { Template } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { FormFrame, faultsOf, messagesBy } from "../form/frame.tsx";
import { isReadable, PARTS, TemplateNames, TemplateParts, textOf, valuesOf } from "./fields.tsx";

/** Edits a draft, or creates one from a published version and opens it. */
export function TemplateEditor({
  template,
  onDirty,
}: {
  template: Template;
  onDirty: (isDirty: boolean) => void;
}) {
  const [, go] = useLocation();
  const start = textOf(template);
  const [text, setText] = useState(start);
  const isChanged = JSON.stringify(text) !== JSON.stringify(start);
  const isDraft = template.status === "draft";
  const save = useChange("PUT /api/v1/templates/{template_id}", {
    basedOn: template,
    touches: ["/templates", "/bundles"],
    tellsErrors: false,
    done: ({ version }) => (isDraft ? t("Draft saved") : t("Draft of version {version} saved", { version })),
    onDone({ id }) {
      onDirty(false);
      if (id !== template.id) go(`/templates/${id}`);
    },
  });
  const send = () =>
    isChanged &&
    isReadable(text) &&
    save.mutate({ path: { template_id: template.id }, body: valuesOf(text) });
  const put = (next: typeof text) => {
    setText(next);
    onDirty(JSON.stringify(next) !== JSON.stringify(start));
  };
  return (
    <FormFrame
      title={isDraft ? t("Draft") : t("Next version")}
      call={save}
      drawn={["displayName", "description", ...PARTS]}
      isChanged={isChanged}
      isReady={isReadable(text)}
      verb={isDraft ? t("Save") : t("Save draft")}
      onSend={send}
    >
      {!isDraft && (
        <p className="mb-4 text-sm text-soft">
          {t("Published versions can't be edited. Your changes are saved as a draft of the next version.")}
        </p>
      )}
      <div className="mb-5 grid gap-4 sm:grid-cols-2">
        <TemplateNames text={text} onChange={put} messageFor={messagesBy(save.error)} />
      </div>
      <TemplateParts
        type={template.templateType}
        text={text}
        onChange={put}
        faults={faultsOf(save.error)}
        onSubmit={send}
      />
    </FormFrame>
  );
}
