import { Ban, ListChecks, Plus, RotateCcw, ShieldCheck, Star } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Connection, Provider } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Mono } from "../parts/copy.tsx";
import { Detail } from "../parts/detail.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Files } from "../parts/files.tsx";
import { SchemaForm, type Values } from "../parts/form.tsx";
import { FormFrame, faultsOf, NameFields, toldBy } from "../parts/form-frame.tsx";
import { Menu } from "../parts/menu.tsx";
import { Empty, Facts, Section, Shown } from "../parts/page.tsx";
import { Tables } from "../parts/remote-tables.tsx";
import { propertiesOf } from "../parts/schema.ts";
import { Tag } from "../parts/status.tsx";
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
  return (
    <Detail
      noun="connection"
      from={["/connections", "Connections"]}
      of={connection}
      beside={connection.isDefault && <Tag>default of its provider</Tag>}
      what={provider?.title ?? connection.provider}
      known={
        <>
          verified <When at={connection.lastVerifiedAt} />
        </>
      }
      deeds={<Deeds connection={connection} />}
      remove={(onClose) => <Delete connection={connection} onClose={onClose} />}
      alert={
        connection.verificationError && (
          <p
            role="alert"
            className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm text-bad"
          >
            {connection.verificationError}
          </p>
        )
      }
      tabs={[
        [
          "files",
          "Files",
          files &&
            (() => <Files connection={connection} canUpload={provider?.capabilities.upload ?? false} />),
        ],
        ["tables", "Tables", schema && (() => <Tables connectionId={connection.id} />)],
        ["settings", "Settings", () => <Settings connection={connection} provider={provider} />],
        ["users", "Used by", () => <Users id={connection.id} />],
      ]}
    />
  );
}

function Deeds({ connection }: { connection: Connection }) {
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
  const isOff = connection.status === "disabled";
  return (
    <>
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

/** Only what differs; null takes a key away. */
function changesOf(before: Values, after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, after[name] ?? null]),
  );
}

const ifAny = (name: string, of: Values): Values => (Object.keys(of).length > 0 ? { [name]: of } : {});

function Settings({ connection, provider }: { connection: Connection; provider: Provider | null }) {
  const may = useMay("member");
  const { name, slug } = connection;
  const [named, setNamed] = useState({ name, slug });
  const [config, setConfig] = useState<Values>(connection.config);
  const [credentials, setCredentials] = useState<Values>({});
  const save = useChange("PATCH /api/v1/connections/{connection_id}", {
    touches: ["/connections"],
    tellsErrors: false,
    done: "Saved",
    onDone: () => setCredentials({}),
  });
  const faults = faultsOf(save.error);
  if (!provider || !may) {
    return (
      <Section title="Config">
        <Tree value={connection.config} label="the config" />
      </Section>
    );
  }
  const body = {
    ...changesOf({ name, slug }, named),
    ...ifAny("config", changesOf(connection.config, config)),
    ...ifAny("credentials", credentials),
  };
  return (
    <FormFrame
      title="Settings"
      call={save}
      drawn={["name", "slug", "config", "credentials"]}
      isChanged={Object.keys(body).length > 0}
      onSend={() => save.mutate({ path: { connection_id: connection.id }, body: body as never })}
      more={
        <>
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
        </>
      }
    >
      <NameFields value={named} onChange={setNamed} told={toldBy(save.error)} />
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
