import { Ban, ListChecks, Plus, RotateCcw, ShieldCheck, Star, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError } from "../api.ts";
import type { Connection, Provider } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { Mono } from "../parts/copy.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Files } from "../parts/files.tsx";
import { Faults, SchemaForm, type Values } from "../parts/form.tsx";
import { TextField } from "../parts/labelled.tsx";
import { Menu } from "../parts/menu.tsx";
import { Empty, Facts, PageHead, Section, Shown, useTab } from "../parts/page.tsx";
import { Tables } from "../parts/remote-tables.tsx";
import { propertiesOf } from "../parts/schema.ts";
import { Status, Tag } from "../parts/status.tsx";
import { When } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";

export default function ConnectionPage({ id }: { id: string }) {
  const connection = useApi("GET /api/v1/connections/{connection_id}", { path: { connection_id: id } });
  const providers = useApi("GET /api/v1/connection-providers", {}, { isFixed: true });
  return (
    <Shown of={connection}>
      {(data) => (
        <Shown of={providers}>
          {({ providers: all }) => (
            <Whole connection={data} provider={all.find((each) => each.id === data.provider) ?? null} />
          )}
        </Shown>
      )}
    </Shown>
  );
}

function Whole({ connection, provider }: { connection: Connection; provider: Provider | null }) {
  const { files, schema } = provider?.capabilities ?? { files: false, schema: false };
  const tabs = useTab(
    (
      [
        ["files", "Files", files],
        ["tables", "Tables", schema],
        ["settings", "Settings", true],
        ["users", "Used by", true],
      ] as const
    )
      .filter(([, , isThere]) => isThere)
      .map(([id, name]) => [id, name] as const),
  );
  return (
    <>
      <PageHead
        title={connection.name}
        from={[["/connections", "Connections"]]}
        beside={
          <>
            <Status status={connection.status} />
            {connection.isDefault && <Tag>default of its provider</Tag>}
          </>
        }
        about={
          <span className="flex flex-wrap items-center gap-x-3">
            <span>{provider?.title ?? connection.provider}</span>
            <Mono text={connection.slug} />
            <span>
              verified <When at={connection.lastVerifiedAt} />
            </span>
          </span>
        }
      >
        <Deeds connection={connection} />
      </PageHead>
      {connection.verificationError && (
        <p
          role="alert"
          className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm text-bad"
        >
          {connection.verificationError}
        </p>
      )}
      {tabs.bar}
      {tabs.current === "files" && (
        <Files connection={connection} canUpload={provider?.capabilities.upload ?? false} />
      )}
      {tabs.current === "tables" && <Tables connectionId={connection.id} />}
      {tabs.current === "settings" && <Settings connection={connection} provider={provider} />}
      {tabs.current === "users" && <Users id={connection.id} />}
    </>
  );
}

function Deeds({ connection }: { connection: Connection }) {
  const may = useMay("member");
  const [asks, setAsks] = useState(false);
  const path = { path: { connection_id: connection.id } };
  const touches = ["/connections"];
  const verify = useChange("POST /api/v1/connections/{connection_id}/verify", { touches });
  const disable = useChange("POST /api/v1/connections/{connection_id}/disable", {
    touches,
    done: "Disabled: runs that need it fail",
  });
  const reactivate = useChange("POST /api/v1/connections/{connection_id}/reactivate", {
    touches,
    done: "Verify it to use it",
  });
  const makeDefault = useChange("POST /api/v1/connections/{connection_id}/set-default", {
    touches,
    done: "It is the default now",
  });
  if (!may) return null;
  const isOff = connection.status === "disabled";
  return (
    <>
      <IconButton icon={Trash2} label="Delete the connection" onClick={() => setAsks(true)} />
      <Menu
        label="More"
        align="right"
        buttonClass="inline-flex h-8 items-center rounded-md border border-strong-line bg-raised px-3 text-sm font-medium hover:bg-sunken"
        button="More"
        items={[
          {
            name: "Make it the default",
            icon: Star,
            isDisabled: connection.isDefault,
            onPick: () => makeDefault.mutate(path),
          },
          isOff
            ? { name: "Reactivate", icon: RotateCcw, onPick: () => reactivate.mutate(path) }
            : { name: "Disable", icon: Ban, onPick: () => disable.mutate(path) },
        ]}
      />
      <LinkButton href={`/actions/new?connection=${connection.id}`} icon={Plus}>
        New action
      </LinkButton>
      <Button
        kind="main"
        icon={ShieldCheck}
        busy={verify.isPending}
        disabled={isOff}
        onClick={() => verify.mutate(path)}
      >
        Verify
      </Button>
      {asks && <Delete connection={connection} onClose={() => setAsks(false)} />}
    </>
  );
}

/** Actions and automations whose work names the connection. */
function useUsers(id: string) {
  const actions = useApi("GET /api/v1/actions", { query: { limit: 100 } });
  const automations = useApi("GET /api/v1/automations", { query: { limit: 100 } });
  const mentions = (value: unknown) => JSON.stringify(value).includes(id);
  return {
    isLoading: actions.isPending || automations.isPending,
    isPartial: actions.data?.hasNext === true || automations.data?.hasNext === true,
    users: [
      ...(actions.data?.actions ?? [])
        .filter((action) => action.connectionId === id || mentions(action.definition))
        .map((action) => ({
          id: action.id,
          name: action.name,
          href: `/actions/${action.id}`,
          noun: "action",
        })),
      ...(automations.data?.automations ?? [])
        .filter(({ config }) => mentions(config))
        .map((automation) => ({
          id: automation.id,
          name: automation.name,
          href: `/automations/${automation.id}`,
          noun: "automation",
        })),
    ],
  };
}

function Users({ id }: { id: string }) {
  const { users, isLoading, isPartial } = useUsers(id);
  return (
    <div className="card">
      {users.length === 0 && !isLoading ? (
        <Empty
          icon={ListChecks}
          title="Nothing uses it yet"
          action={<LinkButton href={`/actions/new?connection=${id}`}>Create an action with it</LinkButton>}
        />
      ) : (
        <ul>
          {users.map((user) => (
            <li key={user.id} className="border-t border-line first:border-t-0">
              <Link
                href={user.href}
                className="flex items-center justify-between px-4 py-2.5 text-sm hover:bg-sunken/60"
              >
                <span className="truncate font-medium">{user.name}</span>
                <span className="text-soft">{user.noun}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {isPartial && (
        <p className="border-t border-line px-4 py-2 text-xs text-soft">Of the newest hundred of each.</p>
      )}
    </div>
  );
}

function Delete({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const [, go] = useLocation();
  const { users, isLoading } = useUsers(connection.id);
  const remove = useChange("DELETE /api/v1/connections/{connection_id}", {
    touches: ["/connections"],
    done: `Deleted ${connection.name}`,
    onDone: () => go("/connections"),
  });
  return (
    <Confirm
      title={`Delete ${connection.name}?`}
      verb="Delete"
      typed={connection.slug}
      isBusy={remove.isPending || isLoading}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { connection_id: connection.id } }, { onError: onClose })}
    >
      {users.length > 0 ? (
        <div>
          <p>These use it; give them another connection first, or the API refuses:</p>
          <ul className="mt-1 list-disc pl-5">
            {users.map(({ id, name, noun }) => (
              <li key={id}>
                {name} <span className="text-faint">({noun})</span>
              </li>
            ))}
          </ul>
        </div>
      ) : (
        <p>Nothing uses it. Its credentials are gone for good; data that was loaded through it stays.</p>
      )}
    </Confirm>
  );
}

const DRAWN = [
  ["body", "name"],
  ["body", "slug"],
  ["body", "config"],
  ["body", "credentials"],
];

/** Only what differs; null takes a key away. */
function changesOf(before: Values, after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, after[name] ?? null]),
  );
}

function Settings({ connection, provider }: { connection: Connection; provider: Provider | null }) {
  const may = useMay("member");
  const [name, setName] = useState(connection.name);
  const [slug, setSlug] = useState(connection.slug);
  const [config, setConfig] = useState<Values>(connection.config);
  const [credentials, setCredentials] = useState<Values>({});
  const save = useChange("PATCH /api/v1/connections/{connection_id}", {
    touches: ["/connections"],
    tellsErrors: false,
    done: "Saved",
    onDone: () => setCredentials({}),
  });
  const faults = save.error instanceof ApiError ? save.error.faults : [];
  const told = (field: string) => faults.find(({ loc }) => loc[1] === field && loc.length === 2)?.msg;
  if (!provider || !may) {
    return (
      <Section title="Config">
        <Tree value={connection.config} label="the config" />
      </Section>
    );
  }
  const changed = changesOf(connection.config, config);
  const isChanged =
    name !== connection.name ||
    slug !== connection.slug ||
    Object.keys(changed).length > 0 ||
    Object.keys(credentials).length > 0;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({
          path: { connection_id: connection.id },
          body: {
            ...(name === connection.name ? {} : { name }),
            ...(slug === connection.slug ? {} : { slug }),
            ...(Object.keys(changed).length > 0 ? { config: changed as never } : {}),
            ...(Object.keys(credentials).length > 0
              ? { credentials: credentials as Record<string, string> }
              : {}),
          },
        });
      }}
    >
      <Section
        title="Settings"
        aside={
          <>
            {isChanged && <span>Not saved</span>}
            <Button type="submit" kind="main" busy={save.isPending} disabled={!isChanged}>
              Save
            </Button>
          </>
        }
      >
        {save.error && faults.length === 0 && (
          <p role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
            {save.error.message}
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
          />
          <TextField
            label="Slug"
            isRequired
            value={slug}
            onChange={setSlug}
            fault={told("slug")}
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
      {propertiesOf(provider.credentialsSchema).length > 0 && (
        <Section
          title="Credentials"
          aside={connection.hasCredentials ? "Stored; give only what changes" : "None stored"}
        >
          <SchemaForm
            schema={{ ...provider.credentialsSchema, required: [] }}
            value={credentials}
            onChange={setCredentials}
            at={["body", "credentials"]}
            faults={faults}
          />
        </Section>
      )}
      <Section title="Facts">
        <Facts
          of={[
            ["Id", <Mono key="id" text={connection.id} />],
            ["Created", <When key="made" at={connection.createdAt} />],
            ["Changed", <When key="changed" at={connection.updatedAt} />],
            ["Last used", <When key="used" at={connection.lastUsedAt} />],
          ]}
        />
      </Section>
    </form>
  );
}
