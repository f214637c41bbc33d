import { type FormEvent, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { ApiError } from "../api.ts";
import type { ActionKindInfo } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { Button } from "../parts/button.tsx";
import { ConnectionChoice } from "../parts/connection-choice.tsx";
import { DefinitionEditor } from "../parts/definition.tsx";
import { Faults, type Values } from "../parts/form.tsx";
import { TextField } from "../parts/labelled.tsx";
import { PageHead, Section, Shown } from "../parts/page.tsx";
import { startValue } from "../parts/schema.ts";

export default function NewAction() {
  const [search, setSearch] = useSearchParams();
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const asked = search.get("kind");
  return (
    <>
      <PageHead title="New action" from={[["/actions", "Actions"]]} />
      <Shown of={kinds}>
        {({ kinds: all }) => {
          const kind = all.find((each) => each.kind === asked);
          return kind ? (
            <NewOf key={kind.kind} kind={kind} connectionId={search.get("connection")} />
          ) : (
            <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
              {all.map(({ kind: name, title, description }) => (
                <li key={name}>
                  <button
                    type="button"
                    onClick={() =>
                      setSearch((before) => {
                        before.set("kind", name);
                        return before;
                      })
                    }
                    className="card size-full px-4 py-3 text-left hover:border-accent"
                  >
                    <span className="block font-medium">{title}</span>
                    <span className="mt-1 block text-sm text-soft">{description}</span>
                    <code className="mt-2 block font-mono text-xs text-faint">{name}</code>
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
  ["body", "connectionId"],
  ["body", "definition"],
];

function NewOf({ kind, connectionId: given }: { kind: ActionKindInfo; connectionId: string | null }) {
  const [, go] = useLocation();
  const [name, setName] = useState("");
  const [slug, setSlug] = useState("");
  const [connectionId, setConnectionId] = useState(given ?? "");
  const [definition, setDefinition] = useState<Values>(() => startValue(kind.definitionSchema));
  const [problem, setProblem] = useState<string | null>(null);
  const create = useChange("POST /api/v1/actions", {
    touches: ["/actions"],
    tellsErrors: false,
    done: ({ name: made }) => `Created ${made}`,
    onDone: ({ id }) => go(`/actions/${id}`),
  });
  const faults = create.error instanceof ApiError ? create.error.faults : [];
  const told = (field: string) => faults.find(({ loc }) => loc[1] === field && loc.length === 2)?.msg;
  const save = (event?: FormEvent) => {
    event?.preventDefault();
    create.mutate({
      body: {
        kind: kind.kind as never,
        name,
        definition: definition as never,
        ...(slug ? { slug } : {}),
        ...(connectionId ? { connectionId } : {}),
      },
    });
  };
  return (
    <form
      onSubmit={save}
      onKeyDown={(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && save()}
    >
      <Section title={kind.title} aside={kind.description}>
        {create.error && faults.length === 0 && (
          <p role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
            {create.error.message}
          </p>
        )}
        <Faults of={faults} drawn={DRAWN} />
        <div className="grid gap-4 sm:grid-cols-2">
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
          {kind.providers.length > 0 && (
            <ConnectionChoice
              kind={kind}
              value={connectionId}
              onChange={setConnectionId}
              fault={told("connectionId")}
            />
          )}
        </div>
      </Section>
      <Section title="Definition">
        <DefinitionEditor
          kind={kind}
          value={definition}
          onChange={setDefinition}
          onProblem={setProblem}
          faults={faults}
        />
      </Section>
      <div className="flex gap-2">
        <Button type="submit" kind="main" busy={create.isPending} disabled={problem !== null}>
          Create the action
        </Button>
      </div>
    </form>
  );
}
