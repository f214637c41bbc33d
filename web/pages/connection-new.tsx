import { type FormEvent, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { ApiError, call } from "../api.ts";
import type { Provider } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { Button } from "../parts/button.tsx";
import { Faults, SchemaForm, type Values } from "../parts/form.tsx";
import { TextField } from "../parts/labelled.tsx";
import { PageHead, Section, Shown } from "../parts/page.tsx";
import { propertiesOf, startValue } from "../parts/schema.ts";
import { Tag } from "../parts/status.tsx";

const ABILITIES = [
  ["files", "files"],
  ["schema", "tables"],
  ["http", "HTTP"],
  ["upload", "upload"],
] as const;

export default function NewConnection() {
  const [search, setSearch] = useSearchParams();
  const providers = useApi("GET /api/v1/connection-providers", {}, { isFixed: true });
  return (
    <>
      <PageHead title="New connection" from={[["/connections", "Connections"]]} />
      <Shown of={providers}>
        {({ providers: all }) => {
          const provider = all.find(({ id }) => id === search.get("provider"));
          return provider ? (
            <NewOf key={provider.id} provider={provider} />
          ) : (
            <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
              {all.map(({ id, title, description, capabilities }) => (
                <li key={id}>
                  <button
                    type="button"
                    onClick={() => setSearch({ provider: id })}
                    className="card flex size-full flex-col px-4 py-3 text-left hover:border-accent"
                  >
                    <span className="font-medium">{title}</span>
                    <span className="mt-1 grow text-sm text-soft">{description}</span>
                    <span className="mt-2 flex flex-wrap gap-1">
                      {ABILITIES.filter(([ability]) => capabilities[ability]).map(([ability, name]) => (
                        <Tag key={ability}>{name}</Tag>
                      ))}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </>
  );
}

const DRAWN = [
  ["body", "name"],
  ["body", "slug"],
  ["body", "config"],
  ["body", "credentials"],
];

function NewOf({ provider }: { provider: Provider }) {
  const [, go] = useLocation();
  const [name, setName] = useState("");
  const [slug, setSlug] = useState("");
  const [config, setConfig] = useState<Values>(() => startValue(provider.configSchema));
  const [credentials, setCredentials] = useState<Values>({});
  const create = useChange("POST /api/v1/connections", {
    touches: ["/connections"],
    tellsErrors: false,
    async onDone({ id }) {
      // The page of the connection shows how that went.
      await call("POST /api/v1/connections/{connection_id}/verify", { path: { connection_id: id } }).catch(
        () => null,
      );
      go(`/connections/${id}`);
    },
  });
  const faults = create.error instanceof ApiError ? create.error.faults : [];
  const told = (field: string) => faults.find(({ loc }) => loc[1] === field && loc.length === 2)?.msg;
  const save = (event?: FormEvent) => {
    event?.preventDefault();
    create.mutate({
      body: {
        name,
        provider: provider.id,
        config: config as never,
        credentials: credentials as Record<string, string>,
        ...(slug ? { slug } : {}),
      },
    });
  };
  const hasSecrets = propertiesOf(provider.credentialsSchema).length > 0;
  return (
    <form
      onSubmit={save}
      onKeyDown={(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && save()}
    >
      <Section title={provider.title} aside={provider.description}>
        {create.error && faults.length === 0 && (
          <p role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
            {create.error.message}
          </p>
        )}
        <Faults of={faults} drawn={DRAWN} />
        <div className="mb-4 grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            isRequired
            value={name}
            onChange={setName}
            fault={told("name")}
            maxLength={255}
            autoFocus
          />
          <TextField
            label="Slug"
            value={slug}
            onChange={setSlug}
            fault={told("slug")}
            placeholder="made from the name"
            maxLength={100}
          />
        </div>
        <SchemaForm
          schema={provider.configSchema}
          value={config}
          onChange={setConfig}
          at={["body", "config"]}
          faults={faults}
          minor={["baseUrl"]}
        />
      </Section>
      {hasSecrets && (
        <Section title="Credentials" aside="Stored encrypted; never shown again">
          <SchemaForm
            schema={provider.credentialsSchema}
            value={credentials}
            onChange={setCredentials}
            at={["body", "credentials"]}
            faults={faults}
          />
        </Section>
      )}
      <Button type="submit" kind="main" busy={create.isPending}>
        Create and verify
      </Button>
    </form>
  );
}
