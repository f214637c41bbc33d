import type { ComponentType } from "react";
import { Later, type Part, part } from "./parts/base/later.tsx";
import { LostPage } from "./parts/base/lost-page.tsx";

type PathParams = Record<string, string>;
type Load = () => Promise<{ default: ComponentType<never> }>;

interface PageRoute {
  /** `:name` matches one segment, which the page receives under that name. */
  readonly path: string;
  readonly page: Part<PathParams>;
}

const route = (path: string, load: Load): PageRoute => ({
  path,
  page: part(load as unknown as () => Promise<{ default: ComponentType<PathParams> }>),
});

export const PageOf = ({ route: { page }, params }: { route: PageRoute; params: PathParams }) => (
  <Later of={page} props={params} lost={<LostPage />} />
);

/** All pages. The code of each is in a separate file. */
export const ROUTES: readonly PageRoute[] = [
  route("/", () => import("./pages/home.tsx")),
  route("/runs", () => import("./pages/runs.tsx")),
  route("/runs/:id", () => import("./pages/run.tsx")),
  route("/approvals", () => import("./pages/approvals.tsx")),
  route("/approvals/:id", () => import("./pages/approval.tsx")),
  route("/actions", () => import("./pages/actions.tsx")),
  route("/actions/new", () => import("./pages/action-new.tsx")),
  route("/actions/:id", () => import("./pages/action.tsx")),
  route("/connections", () => import("./pages/connections.tsx")),
  route("/connections/new", () => import("./pages/connection-new.tsx")),
  route("/connections/:id", () => import("./pages/connection.tsx")),
  route("/automations", () => import("./pages/automations.tsx")),
  route("/automations/new", () => import("./pages/automation-new.tsx")),
  route("/automations/:id/edit", () => import("./pages/automation-edit.tsx")),
  route("/automations/:id", () => import("./pages/automation.tsx")),
  route("/automation-runs/:id", () => import("./pages/automation-run.tsx")),
  route("/datasets", () => import("./pages/datasets.tsx")),
  route("/datasets/:layer/:dataset", () => import("./pages/dataset.tsx")),
  route("/sql", () => import("./pages/sql.tsx")),
  route("/events", () => import("./pages/events.tsx")),
  route("/bundles", () => import("./pages/bundles.tsx")),
  route("/bundles/:id", () => import("./pages/bundle.tsx")),
  route("/templates", () => import("./pages/templates.tsx")),
  route("/templates/new", () => import("./pages/template-new.tsx")),
  route("/templates/:id", () => import("./pages/template.tsx")),
  route("/webhooks", () => import("./pages/webhooks.tsx")),
  route("/webhooks/new", () => import("./pages/webhook-new.tsx")),
  route("/webhooks/:id", () => import("./pages/webhook.tsx")),
  route("/deliveries", () => import("./pages/deliveries.tsx")),
  route("/deliveries/:id", () => import("./pages/delivery.tsx")),
  route("/dead-letters", () => import("./pages/dead-letters.tsx")),
  route("/chat", () => import("./pages/chat.tsx")),
  route("/chat/:id", () => import("./pages/chat-thread.tsx")),
  route("/agents", () => import("./pages/agents.tsx")),
  route("/agents/new", () => import("./pages/agent-new.tsx")),
  route("/agents/:id", () => import("./pages/agent.tsx")),
  route("/catalog", () => import("./pages/catalog.tsx")),
  route("/catalog/new", () => import("./pages/catalog-new.tsx")),
  route("/catalog/:id", () => import("./pages/catalog-entry.tsx")),
  route("/dashboards", () => import("./pages/dashboards.tsx")),
  route("/dashboards/new", () => import("./pages/dashboard-new.tsx")),
  route("/dashboards/:id", () => import("./pages/dashboard.tsx")),
  route("/dashboards/:id/edit", () => import("./pages/dashboard-edit.tsx")),
  route("/artifacts", () => import("./pages/artifacts.tsx")),
  route("/artifacts/:id", () => import("./pages/artifact.tsx")),
  route("/team", () => import("./pages/team.tsx")),
  route("/access", () => import("./pages/access.tsx")),
  route("/link", () => import("./pages/link.tsx")),
  route("/organization", () => import("./pages/organization.tsx")),
  route("/installation", () => import("./pages/installation.tsx")),
  route("/installation/organizations/:id", () => import("./pages/installation-organization.tsx")),
];

export const NOWHERE = route("", () => import("./pages/nowhere.tsx"));

const isAt = (pattern: string, path: string) => {
  const [wanted, parts] = [pattern.split("/"), path.split("/")];
  return (
    wanted.length === parts.length && wanted.every((part, at) => part.startsWith(":") || part === parts[at])
  );
};

/** True if the browser asks to save data. */
const savesData = () => (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;

/** Preloads the other pages after the first one, so that they open immediately. */
const OTHERS_MS = 1500;

/** Loads the code of the page at `path` now, and of the others when there is time. */
export function fetchPages(path: string): void {
  const first = ROUTES.find(({ path: pattern }) => isAt(pattern, path)) ?? NOWHERE;
  const ignore = () => undefined; // a page shows it if its code can't be loaded
  void first.page.load().catch(ignore);
  if (savesData()) return;
  setTimeout(() => {
    for (const { page } of ROUTES) void page.load().catch(ignore);
  }, OTHERS_MS);
}
