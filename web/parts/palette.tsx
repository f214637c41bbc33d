import { useQuery } from "@tanstack/react-query";
import {
  Bot,
  Boxes,
  Cable,
  CornerDownLeft,
  Database,
  FileCode,
  FileText,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  Package,
  Plus,
  Search,
  Webhook,
  Workflow,
  Zap,
} from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { call } from "../api.ts";
import { AREAS } from "../areas.ts";

interface Hit {
  href: string;
  name: string;
  about: string;
  icon: LucideIcon;
}

const TYPING_MS = 150;
const EACH = 5;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const PLACES: readonly Hit[] = [
  ...AREAS.map(({ href, name, icon }) => ({ href, name, icon, about: "Go to" })),
  { href: "/templates", name: "Templates", about: "Go to", icon: FileCode },
  { href: "/deliveries", name: "Incoming webhooks", about: "Go to", icon: Webhook },
  { href: "/dead-letters", name: "Dead letters", about: "Go to", icon: Webhook },
  { href: "/webhooks/new", name: "New webhook", about: "Create", icon: Plus },
  { href: "/templates/new", name: "New template", about: "Create", icon: Plus },
  { href: "/organization?new=yes", name: "New organization", about: "Create", icon: Plus },
  { href: "/connections/new", name: "New connection", about: "Create", icon: Plus },
  { href: "/actions/new", name: "New action", about: "Create", icon: Plus },
  { href: "/automations/new", name: "New automation", about: "Create", icon: Plus },
  { href: "/agents/new", name: "New agent", about: "Create", icon: Plus },
  { href: "/catalog/new", name: "New API", about: "Create", icon: Plus },
];

/** Things whose name or slug holds the text. */
async function searchNames(q: string, signal: AbortSignal): Promise<Hit[]> {
  const query = { q, limit: EACH };
  const [actions, automations, connections, datasets, bundles, agents, apis] = await Promise.all([
    call("GET /api/v1/actions", { query }, { signal }),
    call("GET /api/v1/automations", { query }, { signal }),
    call("GET /api/v1/connections", { query }, { signal }),
    call("GET /api/v1/datasets", { query }, { signal }),
    call("GET /api/v1/bundles", { query: { limit: 100 } }, { signal }),
    call("GET /api/v1/agents/specs", { query: { limit: 100 } }, { signal }),
    call("GET /api/v1/api-catalog", { query }, { signal }),
  ]);
  const wanted = q.toLowerCase();
  return [
    ...automations.automations.map(({ id, name, slug }) => ({
      href: `/automations/${id}`,
      name,
      about: `Automation · ${slug}`,
      icon: Workflow,
    })),
    ...actions.actions.map(({ id, name, slug }) => ({
      href: `/actions/${id}`,
      name,
      about: `Action · ${slug}`,
      icon: Zap,
    })),
    ...connections.connections.map(({ id, name, slug }) => ({
      href: `/connections/${id}`,
      name,
      about: `Connection · ${slug}`,
      icon: Cable,
    })),
    ...datasets.datasets.map(({ layer, dataset }) => ({
      href: `/datasets/${layer}/${dataset}`,
      name: dataset,
      about: `Dataset · ${layer}`,
      icon: Database,
    })),
    ...agents.specs
      .filter(({ name, slug }) => name.toLowerCase().includes(wanted) || slug.includes(wanted))
      .slice(0, EACH)
      .map(({ id, name, slug }) => ({ href: `/agents/${id}`, name, about: `Agent · ${slug}`, icon: Bot })),
    ...apis.items.map(({ id, name, type }) => ({
      href: `/catalog/${id}`,
      name,
      about: type === "mcp" ? "MCP server" : "API",
      icon: Boxes,
    })),
    ...bundles.bundles
      .filter(({ displayName, slug }) => displayName.toLowerCase().includes(wanted) || slug.includes(wanted))
      .slice(0, EACH)
      .map(({ id, displayName, slug }) => ({
        href: `/bundles/${id}`,
        name: displayName,
        about: `Bundle · ${slug}`,
        icon: Package,
      })),
  ];
}

/** Whatever has this id. */
async function searchId(id: string, signal: AbortSignal): Promise<Hit[]> {
  const looks: readonly Promise<Hit>[] = [
    call("GET /api/v1/action-runs/{run_id}", { path: { run_id: id } }, { signal }).then(
      ({ kind, displayStatus }) => ({
        href: `/runs/${id}`,
        name: `Run of ${kind}`,
        about: displayStatus,
        icon: ListChecks,
      }),
    ),
    call("GET /api/v1/automation-runs/{run_id}", { path: { run_id: id } }, { signal }).then(
      ({ displayStatus }) => ({
        href: `/automation-runs/${id}`,
        name: "Automation run",
        about: displayStatus,
        icon: ListChecks,
      }),
    ),
    call("GET /api/v1/actions/{action_id}", { path: { action_id: id } }, { signal }).then(({ name }) => ({
      href: `/actions/${id}`,
      name,
      about: "Action",
      icon: Zap,
    })),
    call("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } }, { signal }).then(
      ({ name }) => ({
        href: `/automations/${id}`,
        name,
        about: "Automation",
        icon: Workflow,
      }),
    ),
    call("GET /api/v1/connections/{connection_id}", { path: { connection_id: id } }, { signal }).then(
      ({ name }) => ({
        href: `/connections/${id}`,
        name,
        about: "Connection",
        icon: Cable,
      }),
    ),
    call("GET /api/v1/agents/specs/{spec_id}", { path: { spec_id: id } }, { signal }).then(({ name }) => ({
      href: `/agents/${id}`,
      name,
      about: "Agent",
      icon: Bot,
    })),
    call("GET /api/v1/chat/threads/{thread_id}", { path: { thread_id: id } }, { signal }).then(
      ({ title }) => ({
        href: `/chat/${id}`,
        name: title ?? "Chat",
        about: "Chat",
        icon: MessagesSquare,
      }),
    ),
    call("GET /api/v1/api-catalog/{api_id}", { path: { api_id: id } }, { signal }).then(({ name, type }) => ({
      href: `/catalog/${id}`,
      name,
      about: type === "mcp" ? "MCP server" : "API",
      icon: Boxes,
    })),
    call("GET /api/v1/artifacts/{artifact_id}", { path: { artifact_id: id } }, { signal }).then(
      ({ title, kind }) => ({
        href: `/artifacts/${id}`,
        name: title ?? "Artifact",
        about: `Artifact · ${kind}`,
        icon: FileText,
      }),
    ),
    call("GET /api/v1/templates/{template_id}", { path: { template_id: id } }, { signal }).then(
      ({ displayName, version }) => ({
        href: `/templates/${id}`,
        name: displayName,
        about: `Template · version ${version}`,
        icon: FileCode,
      }),
    ),
    call("GET /api/v1/webhook-deliveries/{delivery_id}", { path: { delivery_id: id } }, { signal }).then(
      ({ status }) => ({
        href: `/deliveries/${id}`,
        name: "Incoming webhook",
        about: status,
        icon: Webhook,
      }),
    ),
    call("GET /api/v1/webhooks/{webhook_id}", { path: { webhook_id: id } }, { signal }).then(({ url }) => ({
      href: `/webhooks/${id}`,
      name: url,
      about: "Webhook",
      icon: Webhook,
    })),
  ];
  const found = await Promise.allSettled(looks);
  return found.flatMap((look) => (look.status === "fulfilled" ? [look.value] : []));
}

/** Finds things by name, slug or id, and leads there. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const box = useRef<HTMLDialogElement>(null);
  const list = useId();
  useEffect(() => {
    box.current?.showModal();
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["palette", asked],
    queryFn: ({ signal }) => (ID.test(asked) ? searchId(asked, signal) : searchNames(asked, signal)),
    enabled: asked !== "",
  });
  const wanted = text.trim().toLowerCase();
  const hits = [
    ...(asked === "" ? [] : (found.data ?? [])),
    ...PLACES.filter(({ name }) => name.toLowerCase().includes(wanted)),
  ];
  const chosen = Math.min(at, hits.length - 1);

  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    go(hit.href);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((chosen + step + hits.length) % Math.max(hits.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(hits[chosen]);
    }
  };
  return (
    <dialog
      ref={box}
      aria-label="Search"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === box.current && onClose()}
      onKeyDown={onKey}
      className="mx-auto mt-[12vh] w-[calc(100vw-2rem)] max-w-xl overflow-hidden rounded-xl border border-strong-line bg-raised shadow-2xl"
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search size={16} aria-hidden className="text-soft" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={hits.length > 0 ? `${list}-${chosen}` : undefined}
          aria-label="Search names, slugs and ids"
          placeholder="Search names, slugs and ids"
          className="h-12 grow bg-transparent outline-none"
          value={text}
          maxLength={255}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
        />
      </div>
      <div id={list} role="listbox" aria-label="Found" className="max-h-[50vh] overflow-y-auto p-1.5">
        {hits.map(({ href, name, about, icon: Icon }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keyboard
          <div
            key={href + name}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => open(hits[index])}
            onPointerMove={() => setAt(index)}
            className={`flex cursor-pointer items-center gap-3 rounded-md px-3 py-2 text-sm ${index === chosen ? "bg-accent-soft" : ""}`}
          >
            <Icon size={16} aria-hidden className="shrink-0 text-soft" />
            <span className="min-w-0 grow truncate" dir="auto">
              {name}
            </span>
            <span className="max-w-[45%] truncate text-xs text-soft">{about}</span>
            {index === chosen && <CornerDownLeft size={13} aria-hidden className="text-faint" />}
          </div>
        ))}
      </div>
      {hits.length === 0 && (
        <p className="px-4 pb-5 text-sm text-soft" role="status">
          {found.isFetching || asked !== text.trim() ? "Searching …" : "Nothing has this name or id."}
        </p>
      )}
    </dialog>
  );
}
