import { FileCode } from "lucide-react";
import { useState } from "react";
import type { Schema, Template } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { LinkButton } from "../parts/base/button.tsx";
import { Failed, Loading, PageHead, Section } from "../parts/base/page.tsx";
import { Status, Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { SchemaForm, type Values } from "../parts/form/form.tsx";
import { FormFrame, faultsOf } from "../parts/form/frame.tsx";
import { propertiesOf } from "../parts/form/schema.ts";
import {
  ComponentList,
  CreatedList,
  componentsOf,
  type Install,
  useInstalls,
} from "../parts/templates/created.tsx";
import { NextStep } from "../parts/templates/next-step.tsx";
import { t } from "../texts/text.ts";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Number of earlier installs to show. */
const EARLIER = 4;

type Secrets = Readonly<Record<string, string>>;

/** A bundle by the ID of a version, or by its slug for the latest published version. */
export default function BundlePage({ id }: { id: string }) {
  const isId = ID.test(id);
  const byId = useApi(
    "GET /api/v1/templates/{template_id}",
    { path: { template_id: id } },
    { enabled: isId },
  );
  const bySlug = useApi("GET /api/v1/templates/slug/{slug}", { path: { slug: id } }, { enabled: !isId });
  const { data, error } = isId ? byId : bySlug;
  if (data) return <Whole key={data.id} bundle={data} />;
  return error ? <Failed error={error} isPage /> : <Loading />;
}

function Whole({ bundle }: { bundle: Template }) {
  const may = useMay("member");
  const isBuiltIn = useIsBuiltIn(bundle);
  const [secrets, setSecrets] = useState<Secrets>({});
  const [latest, ...earlier] = useInstalls()?.filter(({ slug }) => slug === bundle.slug) ?? [];
  return (
    <>
      <PageHead
        title={bundle.displayName}
        from={[["/bundles", t("Bundles")]]}
        beside={
          <>
            {bundle.status !== "published" && <Status status={bundle.status} />}
            <Tag>{t("Version {version}", { version: bundle.version })}</Tag>
          </>
        }
        about={<span dir="auto">{bundle.description}</span>}
      >
        {!isBuiltIn && (
          <LinkButton href={`/templates/${bundle.id}`} icon={FileCode}>
            {t("Open template")}
          </LinkButton>
        )}
      </PageHead>
      <div className="grid items-start gap-x-5 lg:grid-cols-3">
        <div className="min-w-0 lg:col-span-2">
          {latest && <MadeBy install={latest} title={t("Installed components")} secrets={secrets} />}
          {bundle.status !== "published" ? (
            <p className="card mb-5 p-4 text-sm text-soft">
              {bundle.status === "draft"
                ? t("This version is a draft. Publish it to install it.")
                : t("This version is deprecated. Existing installs keep working. New installs are blocked.")}
            </p>
          ) : may ? (
            <div className="mb-8">
              <InstallForm
                bundle={bundle}
                isFirst={latest === undefined}
                onSecrets={(made) => setSecrets({ ...secrets, ...made })}
              />
            </div>
          ) : (
            <p className="card mb-5 p-4 text-sm text-soft">
              {t("Installing bundles requires the member role.")}
            </p>
          )}
          {earlier.slice(0, EARLIER).map((install) => (
            <MadeBy key={install.id} install={install} title={t("Earlier install")} />
          ))}
        </div>
        <Section title={t("Contents")}>
          <ComponentList of={componentsOf(bundle)} />
        </Section>
      </div>
    </>
  );
}

function MadeBy({
  install: { at, by, version, components },
  title,
  secrets,
}: {
  install: Install;
  title: string;
  /** Secrets of webhooks that were just created, by automation. Only for the latest install. */
  secrets?: Secrets;
}) {
  const automations = components.filter(({ entityType }) => entityType === "automation");
  return (
    <Section
      title={title}
      flush
      aside={
        <span>
          {t("Version {version} · {by}", { version, by })} · <When at={at} />
        </span>
      }
    >
      <CreatedList of={components} />
      {secrets &&
        automations.map(({ entityId }) => (
          <NextStep key={entityId} automationId={entityId} secret={secrets[entityId]} />
        ))}
    </Section>
  );
}

/** Built-in templates aren't in the organization's list. */
function useIsBuiltIn({ id }: Template): boolean {
  const own = useApi("GET /api/v1/templates", { query: { template_type: "bundle", limit: 100 } });
  return own.data?.templates.some((template) => template.id === id) === false;
}

/** The schema with the template's own defaults. */
function withDefaults({ inputJsonSchema, inputDefaults }: Template): Schema {
  const defaults = inputDefaults as Values;
  return {
    ...inputJsonSchema,
    properties: Object.fromEntries(
      propertiesOf(inputJsonSchema).map(([name, of]) => [
        name,
        name in defaults ? { ...of, default: defaults[name] } : of,
      ]),
    ),
  };
}

interface InstallProps {
  bundle: Template;
  isFirst: boolean;
  onSecrets: (made: Secrets) => void;
}

function InstallForm({ bundle, isFirst, onSecrets }: InstallProps) {
  const [inputs, setInputs] = useState<Values>({});
  const install = useChange("POST /api/v1/bundles/{slug}/install", {
    touches: ["/api/v1", "name of"],
    tellsErrors: false,
    done: t("{displayName} installed", { displayName: bundle.displayName }),
    onDone: ({ components }) =>
      onSecrets(
        Object.fromEntries(
          components.flatMap(({ entityId, secret }) => (secret === undefined ? [] : [[entityId, secret]])),
        ),
      ),
  });
  const schema = withDefaults(bundle);
  const asks = propertiesOf(schema).length > 0;
  return (
    <FormFrame
      title={isFirst ? t("Install") : t("Install again")}
      call={install}
      drawn={["inputs"]}
      verb={isFirst ? t("Install") : t("Install again")}
      onSend={() =>
        install.mutate({
          path: { slug: bundle.slug },
          query: { version: bundle.version },
          body: { inputs: inputs as never },
        })
      }
    >
      {!isFirst && (
        <p className="mb-4 text-sm text-soft">
          {t(
            "Reinstalling with the same inputs restores deleted components and duplicates nothing. Different inputs create a second set. A newer version updates the existing components.",
          )}
        </p>
      )}
      {asks || faultsOf(install.error).length > 0 ? (
        <SchemaForm
          schema={schema}
          value={inputs}
          onChange={setInputs}
          at={["body", "inputs"]}
          faults={faultsOf(install.error)}
        />
      ) : (
        <p className="text-sm text-soft">
          {t("No inputs required. You can edit the components after installing.")}
        </p>
      )}
    </FormFrame>
  );
}
