import { Link } from "wouter";
import type { ListedTemplate, Template } from "../calls.ts";
import { useApi, useMay } from "../data.ts";
import { useActionKinds } from "../parts/base/action-kinds.ts";
import { Mono } from "../parts/base/copy.tsx";
import { Loading, PageHead, Section, Shown, useTab } from "../parts/base/page.tsx";
import { Status, Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { Held } from "../parts/layout/detail.tsx";
import { TemplateActions } from "../parts/templates/actions.tsx";
import { TemplateEditor } from "../parts/templates/editor.tsx";
import { typeName } from "../parts/templates/fields.tsx";
import { TemplateUse } from "../parts/templates/use.tsx";
import { t } from "../texts/text.ts";

export default function TemplatePage({ id }: { id: string }) {
  const template = useApi("GET /api/v1/templates/{template_id}", { path: { template_id: id } });
  return (
    <Shown of={template} isPage>
      {(data) => <Whole key={data.id} template={data} />}
    </Shown>
  );
}

/** Versions of the same template among the latest 100. Null while they are loading. */
function useVersions({ slug, templateType }: Template): readonly ListedTemplate[] | null {
  const own = useApi("GET /api/v1/templates", {
    query: { template_type: templateType, built_in: false, summary: true, limit: 100 },
  });
  return own.data?.templates.filter((each) => each.slug === slug) ?? null;
}

function Whole({ template }: { template: Template }) {
  const may = useMay("member");
  const versions = useVersions(template);
  const kinds = useActionKinds();
  const kind = kinds.data?.kinds.find((each) => each.kind === template.kind)?.title ?? template.kind;
  const isOwn = !template.isBuiltIn;
  const canUse = may && template.status === "published" && template.templateType !== "bundle";
  const tabs = useTab([
    ["use", t("Use template")],
    ["edit", t("Definition")],
  ]);
  const draft = versions?.find(({ status, id }) => status === "draft" && id !== template.id);
  return (
    <>
      <PageHead
        title={template.displayName}
        from={[["/templates", t("Templates")]]}
        beside={
          <>
            <Status status={template.status} />
            <Tag>{t("Version {version}", { version: template.version })}</Tag>
          </>
        }
        about={
          <span className="flex flex-wrap items-center gap-x-3">
            <span>{kind ?? typeName(template.templateType)}</span>
            <Mono text={template.slug} />
            <span>
              {t("Updated")} <When at={template.updatedAt} />
            </span>
          </span>
        }
      >
        {may && isOwn && <TemplateActions template={template} />}
      </PageHead>
      {draft && template.status === "published" && (
        <p className="mb-5 rounded-lg bg-warn-soft px-4 py-2.5 text-sm text-warn" role="status">
          {t("Version {version} is a draft.", { version: draft.version })}{" "}
          <Link href={`/templates/${draft.id}`} className="underline">
            {t("Edit draft")}{" "}
          </Link>
        </p>
      )}
      {canUse && tabs.bar}
      {canUse && tabs.current === "use" ? (
        <TemplateUse template={template} />
      ) : versions === null ? (
        <Loading />
      ) : may && isOwn && template.status !== "deprecated" ? (
        <Held of={template}>{(base, onDirty) => <TemplateEditor template={base} onDirty={onDirty} />}</Held>
      ) : (
        <Reading template={template} isOwn={isOwn} />
      )}
      {versions && versions.length > 1 && (
        <Section title={t("Versions")} flush>
          <ul>
            {versions.map(({ id, version, status, updatedAt }) => (
              <li key={id} className="border-t border-line first:border-t-0">
                <Link
                  href={`/templates/${id}`}
                  aria-current={id === template.id ? "page" : undefined}
                  className={`flex items-center gap-3 px-4 py-2 text-sm hover:bg-sunken/60 ${id === template.id ? "font-medium" : ""}`}
                >
                  <span className="grow">{t("Version {version}", { version })}</span>
                  <Status status={status} />
                  <span className="w-28 text-right text-xs text-soft">
                    <When at={updatedAt} />
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Reading({ template, isOwn }: { template: Template; isOwn: boolean }) {
  return (
    <>
      {!isOwn && <p className="mb-5 text-sm text-soft">{t("Built-in template. Read-only.")}</p>}
      <Section title={t("Definition")}>
        <Tree value={template.definition} copyLabel={t("Copy definition as JSON")} />
      </Section>
      <Section title={t("Input schema")}>
        <Tree value={template.inputJsonSchema} copyLabel={t("Copy schema as JSON")} />
      </Section>
    </>
  );
}
