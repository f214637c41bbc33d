import { type ComponentType, type LazyExoticComponent, lazy } from "react";

type Page = ComponentType<Record<string, string>>;
type Load = () => Promise<{ default: ComponentType<never> }>;

interface PageRoute {
  /** `:name` stands for one segment, which the page gets by that name. */
  readonly path: string;
  /** Fetches the page's code, once. */
  readonly load: () => Promise<{ default: Page }>;
  /** The page once its code is here; null before. */
  ready: Page | null;
  readonly later: LazyExoticComponent<Page>;
}

function route(path: string, load: Load): PageRoute {
  let fetching: Promise<{ default: Page }> | null = null;
  const start = () => {
    fetching ??= (load() as unknown as Promise<{ default: Page }>).then((module) => {
      made.ready = module.default;
      return module;
    });
    return fetching;
  };
  const made: PageRoute = { path, load: start, ready: null, later: lazy(start) };
  return made;
}

/** Draws a page. Code that is here already is drawn at once; through `lazy` it would be a third of a second late. */
export function PageOf({
  route: { ready, later },
  given,
}: {
  route: PageRoute;
  given: Record<string, string>;
}) {
  const Page = ready ?? later;
  return <Page {...given} />;
}

/** Every page of ours; the code of each is a file of its own. */
export const ROUTES: readonly PageRoute[] = [
  route("/", () => import("./pages/home.tsx")),
  route("/runs", () => import("./pages/runs.tsx")),
  route("/runs/:id", () => import("./pages/run.tsx")),
  route("/approvals", () => import("./pages/approvals.tsx")),
  route("/actions", () => import("./pages/actions.tsx")),
  route("/actions/new", () => import("./pages/action-new.tsx")),
  route("/actions/:id", () => import("./pages/action.tsx")),
  route("/connections", () => import("./pages/connections.tsx")),
  route("/connections/new", () => import("./pages/connection-new.tsx")),
  route("/connections/:id", () => import("./pages/connection.tsx")),
  route("/automations", () => import("./pages/automations.tsx")),
  route("/automations/new", () => import("./pages/automation-new.tsx")),
  route("/automations/:id", () => import("./pages/automation.tsx")),
  route("/automation-runs/:id", () => import("./pages/automation-run.tsx")),
  route("/datasets", () => import("./pages/datasets.tsx")),
  route("/datasets/:layer/:dataset", () => import("./pages/dataset.tsx")),
  route("/sql", () => import("./pages/sql.tsx")),
  route("/events", () => import("./pages/events.tsx")),
];

export const NOWHERE = route("", () => import("./pages/nowhere.tsx"));

const isAt = (pattern: string, path: string) => {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  return (
    wanted.length === given.length && wanted.every((part, at) => part.startsWith(":") || part === given[at])
  );
};

/** After the first page the others are fetched, so that each opens at once. */
const OTHERS_MS = 1500;

/** Fetches the code of the page at `path` now, and that of the others when there is time. */
export function fetchPages(path: string): void {
  const first = ROUTES.find(({ path: pattern }) => isAt(pattern, path)) ?? NOWHERE;
  const ignore = () => undefined; // a page that can't be fetched says so when it is opened
  void first.load().catch(ignore);
  setTimeout(() => {
    for (const { load: start } of ROUTES) void start().catch(ignore);
  }, OTHERS_MS);
}
