import {
  Bot,
  Boxes,
  Cable,
  CircleX,
  Database,
  FileCode,
  FileText,
  ListChecks,
  MessagesSquare,
  Package,
  Table2,
  UserRound,
  Webhook,
  Workflow,
  Zap,
} from "lucide-react";
import { call } from "../../api.ts";
import { t } from "../../texts/text.ts";
import { titleOf } from "../artifacts/artifact.ts";
import { personName } from "../base/person.ts";
import { runStatusName } from "../base/status.tsx";
import type { Hit } from "./pages.ts";

const EACH = 5;
/** Minimum length for searching errors too. */
const ERROR_LETTERS = 3;
/** Number of latest resources and events to search for the end of an ID. */
const NEWEST = 100;
const NEWEST_EVENTS = 200;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The end of an ID, as lists show it. */
const ID_PART = /^[0-9a-f-]{4,35}$/i;

export const isId = (text: string) => ID.test(text);
export const isIdPart = (text: string) => ID_PART.test(text);

/** Resources and users whose name, slug or email address contains the text, and failed runs whose error does. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one search, whose steps share the results
export async function searchNames(q: string, signal: AbortSignal): Promise<Hit[]> {
  const query = { q, limit: EACH };
  const [actions, automations, connections, datasets, bundles, agents, apis, team, failed] =
    await Promise.all([
      call("GET /api/v1/actions", { query }, { signal }),
      call("GET /api/v1/automations", { query }, { signal }),
      call("GET /api/v1/connections", { query }, { signal }),
      call("GET /api/v1/datasets", { query }, { signal }),
      call("GET /api/v1/bundles", { query: { limit: 100 } }, { signal }),
      call("GET /api/v1/agents/specs", { query }, { signal }),
      call("GET /api/v1/api-catalog", { query }, { signal }),
      call("GET /api/v1/organizations/team", {}, { signal }),
      q.length < ERROR_LETTERS
        ? null
        : call("GET /api/v1/automation-runs", { query: { ...query, statuses: ["failed"] } }, { signal }),
    ]);
  const wanted = q.toLowerCase();
  return [
    ...automations.automations.map(({ id, name, slug }) => ({
      href: `/automations/${id}`,
      name,
      about: t("Automation · {slug}", { slug }),
      icon: Workflow,
    })),
    ...actions.actions.map(({ id, name, slug }) => ({
      href: `/actions/${id}`,
      name,
      about: t("Action · {slug}", { slug }),
      icon: Zap,
    })),
    ...connections.connections.map(({ id, name, slug }) => ({
      href: `/connections/${id}`,
      name,
      about: t("Connection · {slug}", { slug }),
      icon: Cable,
    })),
    ...datasets.datasets.map(({ layer, dataset }) => ({
      href: `/datasets/${layer}/${dataset}`,
      name: dataset,
      about: t("Dataset · {layer}", { layer }),
      icon: Database,
    })),
    ...datasets.datasets
      .flatMap(({ layer, dataset, tables }) =>
        tables
          .filter(({ name }) => name !== dataset && name.toLowerCase().includes(wanted))
          .map(({ name }) => ({
            href: `/datasets/${layer}/${dataset}?table=${encodeURIComponent(name)}`,
            name,
            about: t("Table · {layer}.{dataset}", { layer, dataset }),
            icon: Table2,
          })),
      )
      .slice(0, EACH),
    ...(failed?.runs ?? []).flatMap(({ id, error, automationName }) => {
      const { message = "" } = (error ?? {}) as { message?: string };
      if (!message.toLowerCase().includes(wanted)) return [];
      return [
        {
          href: `/automation-runs/${id}`,
          name: message,
          about: t("Failed run · {automationName}", {
            automationName: automationName ?? t("deleted automation"),
          }),
          icon: CircleX,
        },
      ];
    }),
    ...agents.specs.map(({ id, name, slug }) => ({
      href: `/agents/${id}`,
      name,
      about: t("Agent · {slug}", { slug }),
      icon: Bot,
    })),
    ...apis.items.map(({ id, name, type }) => ({
      href: `/catalog/${id}`,
      name,
      about: type === "mcp" ? t("MCP server") : "API",
      icon: Boxes,
    })),
    ...team.members
      .filter((member) => `${personName(member)} ${member.email}`.toLowerCase().includes(wanted))
      .slice(0, EACH)
      .map((member) => ({
        href: "/team",
        name: personName(member),
        about: `${member.roleName} · ${member.email}`,
        icon: UserRound,
      })),
    ...bundles.bundles
      .filter(({ displayName, slug }) => displayName.toLowerCase().includes(wanted) || slug.includes(wanted))
      .slice(0, EACH)
      .map(({ id, displayName, slug }) => ({
        href: `/bundles/${id}`,
        name: displayName,
        about: t("Bundle · {slug}", { slug }),
        icon: Package,
      })),
  ];
}

/** The resource with this ID. */
export async function searchId(id: string, signal: AbortSignal): Promise<Hit[]> {
  const searches: readonly Promise<Hit>[] = [
    call("GET /api/v1/action-runs/{run_id}", { path: { run_id: id } }, { signal }).then(
      ({ kind, displayStatus }) => ({
        href: `/runs/${id}`,
        name: t("Run of {kind}", { kind }),
        about: runStatusName(displayStatus),
        icon: ListChecks,
      }),
    ),
    call("GET /api/v1/automation-runs/{run_id}", { path: { run_id: id } }, { signal }).then(
      ({ displayStatus }) => ({
        href: `/automation-runs/${id}`,
        name: t("Automation run"),
        about: runStatusName(displayStatus),
        icon: ListChecks,
      }),
    ),
    call("GET /api/v1/actions/{action_id}", { path: { action_id: id } }, { signal }).then(({ name }) => ({
      href: `/actions/${id}`,
      name,
      about: t("Action"),
      icon: Zap,
    })),
    call("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } }, { signal }).then(
      ({ name }) => ({
        href: `/automations/${id}`,
        name,
        about: t("Automation"),
        icon: Workflow,
      }),
    ),
    call("GET /api/v1/connections/{connection_id}", { path: { connection_id: id } }, { signal }).then(
      ({ name }) => ({
        href: `/connections/${id}`,
        name,
        about: t("Connection"),
        icon: Cable,
      }),
    ),
    call("GET /api/v1/agents/specs/{spec_id}", { path: { spec_id: id } }, { signal }).then(({ name }) => ({
      href: `/agents/${id}`,
      name,
      about: t("Agent"),
      icon: Bot,
    })),
    call("GET /api/v1/chat/threads/{thread_id}", { path: { thread_id: id } }, { signal }).then(
      ({ title }) => ({
        href: `/chat/${id}`,
        name: title ?? t("Chat"),
        about: t("Chat"),
        icon: MessagesSquare,
      }),
    ),
    call("GET /api/v1/api-catalog/{api_id}", { path: { api_id: id } }, { signal }).then(({ name, type }) => ({
      href: `/catalog/${id}`,
      name,
      about: type === "mcp" ? t("MCP server") : "API",
      icon: Boxes,
    })),
    call("GET /api/v1/artifacts/{artifact_id}", { path: { artifact_id: id } }, { signal }).then(
      ({ title, kind }) => ({
        href: `/artifacts/${id}`,
        name: title ?? t("Artifact"),
        about: t("Artifact · {kind}", { kind }),
        icon: FileText,
      }),
    ),
    call("GET /api/v1/templates/{template_id}", { path: { template_id: id } }, { signal }).then(
      ({ displayName, version }) => ({
        href: `/templates/${id}`,
        name: displayName,
        about: t("Template · version {version}", { version }),
        icon: FileCode,
      }),
    ),
    call("GET /api/v1/webhook-deliveries/{delivery_id}", { path: { delivery_id: id } }, { signal }).then(
      ({ status }) => ({
        href: `/deliveries/${id}`,
        name: t("Incoming webhook"),
        about: status,
        icon: Webhook,
      }),
    ),
    call("GET /api/v1/webhooks/{webhook_id}", { path: { webhook_id: id } }, { signal }).then(({ url }) => ({
      href: `/webhooks/${id}`,
      name: url,
      about: t("Webhook"),
      icon: Webhook,
    })),
  ];
  const found = await Promise.allSettled(searches);
  return found.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/** The latest runs, artifacts and webhooks whose ID ends like this. */
export async function searchIdPart(part: string, signal: AbortSignal): Promise<Hit[]> {
  const query = { limit: NEWEST };
  const [runs, started, artifacts, deliveries] = await Promise.all([
    call("GET /api/v1/action-runs", { query }, { signal }),
    call("GET /api/v1/events", { query: { type: "automation.triggered", limit: NEWEST_EVENTS } }, { signal }),
    call("GET /api/v1/artifacts", { query }, { signal }),
    call("GET /api/v1/webhook-deliveries", { query }, { signal }),
  ]);
  const wanted = part.toLowerCase();
  const ends = ({ id }: { id: string }) => id.endsWith(wanted);
  return [
    ...runs.runs.filter(ends).map(({ id, kind, displayStatus }) => ({
      href: `/runs/${id}`,
      name: t("Run of {kind}", { kind }),
      about: `${runStatusName(displayStatus)} · ${id.slice(-12)}`,
      icon: ListChecks,
    })),
    ...started.items
      .map(({ data }) => ({ id: String(data.runId) }))
      .filter(ends)
      .map(({ id }) => ({
        href: `/automation-runs/${id}`,
        name: t("Automation run"),
        about: id.slice(-12),
        icon: ListChecks,
      })),
    ...artifacts.artifacts.filter(ends).map((artifact) => ({
      href: `/artifacts/${artifact.id}`,
      name: titleOf(artifact),
      about: t("Artifact · {slice}", { slice: artifact.id.slice(-12) }),
      icon: FileText,
    })),
    ...deliveries.items.filter(ends).map(({ id, status }) => ({
      href: `/deliveries/${id}`,
      name: t("Incoming webhook"),
      about: `${status} · ${id.slice(-12)}`,
      icon: Webhook,
    })),
  ];
}
