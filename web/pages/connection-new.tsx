import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { call } from "../api.ts";
import type { Provider } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { Mono } from "../parts/base/copy.tsx";
import { PageHead, Section, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { leaveToSignIn } from "../parts/connections/sign-in.tsx";
import { SchemaForm, type Values } from "../parts/form/form.tsx";
import { FormFrame, faultsOf, messagesBy, NameFields } from "../parts/form/frame.tsx";
import { propertiesOf, startValue } from "../parts/form/schema.ts";
import { MembersOnly } from "../parts/layout/members-only.tsx";

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
      <MembersOnly does="create connections">
        <Shown of={providers}>
          {({ providers: all, redirectUri }) => {
            const provider = all.find(({ id }) => id === search.get("provider"));
            return provider ? (
              <NewOf key={provider.id} provider={provider} redirectUri={redirectUri} />
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
      </MembersOnly>
    </>
  );
}

function NewOf({ provider, redirectUri }: { provider: Provider; redirectUri: string }) {
  const [, go] = useLocation();
  const [named, setNamed] = useState({ name: "", slug: "" });
  const [config, setConfig] = useState<Values>(() => startValue(provider.configSchema));
  const [credentials, setCredentials] = useState<Values>({});
  const create = useChange("POST /api/v1/connections", {
    touches: ["/connections"],
    tellsErrors: false,
    async onDone({ id }) {
      // The page of the connection shows how that went.
      const isAway = await leaveToSignIn(id).catch(() => null);
      if (isAway) return;
      if (isAway === false)
        await call("POST /api/v1/connections/{connection_id}/verify", { path: { connection_id: id } }).catch(
          () => null,
        );
      go(`/connections/${id}`);
    },
  });
  const faults = faultsOf(create.error);
  const save = () =>
    create.mutate({
      body: {
        name: named.name,
        provider: provider.id,
        config: config as never,
        credentials: credentials as Record<string, string>,
        ...(named.slug ? { slug: named.slug } : {}),
      },
    });
  return (
    <FormFrame
      title={provider.title}
      aside={provider.description}
      call={create}
      drawn={["name", "slug", "config", "credentials"]}
      verb={provider.capabilities.signIn ? "Create and sign in" : "Create and verify"}
      onSend={save}
      more={
        propertiesOf(provider.credentialsSchema).length > 0 && (
          <Section title="Credentials" aside="Stored encrypted; never shown again">
            {provider.capabilities.signIn && (
              <p className="mb-4 text-sm text-soft">
                The app that people sign in with has to allow this redirect URI: <Mono text={redirectUri} />
              </p>
            )}
            <SchemaForm
              schema={provider.credentialsSchema}
              value={credentials}
              onChange={setCredentials}
              at={["body", "credentials"]}
              faults={faults}
            />
          </Section>
        )
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messagesBy(create.error)} isNew />
      <SchemaForm
        schema={provider.configSchema}
        value={config}
        onChange={setConfig}
        at={["body", "config"]}
        faults={faults}
        minor={["baseUrl"]}
      />
    </FormFrame>
  );
}
