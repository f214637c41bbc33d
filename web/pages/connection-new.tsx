import { SearchX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";
import type { ListedTemplate, Provider } from "../calls.ts";
import { useAll, useApi } from "../data.ts";
import { Monogram } from "../parts/base/monogram.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { useProviders } from "../parts/base/providers.ts";
import { Tag } from "../parts/base/status.tsx";
import { sourceOf } from "../parts/connections/from-template.ts";
import { NewConnectionForm } from "../parts/connections/new.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { SearchField } from "../parts/table/filters.tsx";
import { t } from "../texts/text.ts";

const ABILITIES = [
  ["files", "files"],
  ["schema", "tables"],
  ["http", "HTTP"],
  ["upload", "upload"],
] as const;

export default function NewConnection() {
  const [search] = useSearchParams();
  const providers = useProviders();
  const template = search.get("template");
  return (
    <>
      <PageHead title={t("New connection")} from={[["/connections", t("Connections")]]} />
      <MembersOnly title={t("You need the member role to create connections")}>
        <Shown of={providers}>
          {({ providers: all, redirectUri }) => {
            const provider = all.find(({ id }) => id === search.get("provider"));
            if (provider) return <NewOf key={provider.id} provider={provider} redirectUri={redirectUri} />;
            return template === null ? (
              <Choices providers={all} />
            ) : (
              <NewOfTemplate key={template} slug={template} redirectUri={redirectUri} />
            );
          }}
        </Shown>
      </MembersOnly>
    </>
  );
}

function NewOf({ provider, redirectUri }: { provider: Provider; redirectUri: string }) {
  const source = {
    title: provider.title,
    description: provider.description,
    configSchema: provider.configSchema,
    credentialsSchema: provider.credentialsSchema,
    named: { provider: provider.id },
    hasSignIn: provider.capabilities.signIn,
    minor: ["baseUrl"],
  };
  return <NewConnectionForm source={source} name="" redirectUri={redirectUri} />;
}

function NewOfTemplate({ slug, redirectUri }: { slug: string; redirectUri: string }) {
  const template = useApi("GET /api/v1/templates/slug/{slug}", { path: { slug } });
  return (
    <Shown of={template}>
      {(data) => (
        <NewConnectionForm
          key={data.id}
          source={sourceOf(data)}
          name={data.displayName}
          redirectUri={redirectUri}
        />
      )}
    </Shown>
  );
}

const LISTED = { template_type: "connection", status: "published", summary: true } as const;

/** What a connection can be created from: providers, the organization's templates, and built-in ones. */
function Choices({ providers }: { providers: readonly Provider[] }) {
  const [words, setWords] = useState("");
  const own = useAll("GET /api/v1/templates", { ...LISTED, built_in: false }, (page) => page.templates);
  const shipped = useAll("GET /api/v1/templates", { ...LISTED, built_in: true }, (page) => page.templates);
  const fits = (...texts: (string | null)[]) =>
    words
      .toLowerCase()
      .split(/\s+/)
      .every((word) => texts.join(" ").toLowerCase().includes(word));
  const shown = providers.filter(({ id, title, description }) => fits(id, title, description));
  return (
    <>
      <search className="mb-4 block">
        <SearchField label={t("Search connectors")} value={words} onChange={setWords} />
      </search>
      <Shown of={shipped}>
        {(templates) => {
          const services = [...newestOf(own.data ?? []), ...templates].filter(
            ({ slug, displayName, description }) => fits(slug, displayName, description),
          );
          if (shown.length + services.length === 0)
            return <Empty icon={SearchX} title={t("No connectors match")} />;
          return (
            <>
              {shown.length > 0 && (
                <Cards label={t("Built-in connectors")}>
                  {shown.map((provider) => (
                    <ProviderCard key={provider.id} provider={provider} />
                  ))}
                </Cards>
              )}
              {services.length > 0 && (
                <Cards label={t("Connectors from templates")}>
                  {services.map((template) => (
                    <TemplateCard key={template.id} template={template} />
                  ))}
                </Cards>
              )}
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** The newest version of each template. The list has them newest first. */
function newestOf(templates: readonly ListedTemplate[]): ListedTemplate[] {
  const seen = new Set<string>();
  return templates.filter(({ slug }) => !seen.has(slug) && seen.add(slug));
}

function Cards({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section className="mb-6">
      <h2 className="mb-2 text-sm font-semibold">{label}</h2>
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">{children}</ul>
    </section>
  );
}

interface CardProps {
  name: string;
  id: string;
  about: string | null;
  chosen: Record<string, string>;
  tags: readonly string[];
}

function Card({ name, id, about, chosen, tags }: CardProps) {
  const [, setSearch] = useSearchParams();
  return (
    <li className="min-w-0">
      <button
        type="button"
        onClick={() => setSearch(chosen)}
        className="card flex size-full flex-col px-4 py-3 text-left hover:border-accent"
      >
        <span className="flex w-full min-w-0 items-center gap-2.5">
          <Monogram name={name} of={id} />
          <span className="min-w-0 truncate font-medium">{name}</span>
        </span>
        <span className="mt-1.5 w-full grow break-words text-sm text-soft">{about}</span>
        {tags.length > 0 && (
          <span className="mt-2 flex flex-wrap gap-1">
            {tags.map((tag) => (
              <Tag key={tag}>{tag}</Tag>
            ))}
          </span>
        )}
      </button>
    </li>
  );
}

function ProviderCard({ provider: { id, title, description, capabilities } }: { provider: Provider }) {
  const tags = ABILITIES.filter(([ability]) => capabilities[ability]).map(([, name]) => name);
  return <Card name={title} id={id} about={description} chosen={{ provider: id }} tags={tags} />;
}

function TemplateCard({
  template: { slug, displayName, description, isBuiltIn },
}: {
  template: ListedTemplate;
}) {
  const tags = isBuiltIn ? [] : [t("Yours")];
  return <Card name={displayName} id={slug} about={description} chosen={{ template: slug }} tags={tags} />;
}
