import { type QueryClient, useQuery } from "@tanstack/react-query";
import { call } from "../../api.ts";
import type { Schema } from "../../calls.ts";
import { t } from "../../texts/text.ts";

const MOST = 20;
const MOST_FILES = 100;
const FRESH_MS = 60_000;

/** An option of a field: its value, its name, and what distinguishes it from others. */
export interface Pick {
  value: string;
  name: string;
  about: string;
  /** Whether it can be opened, as a folder can. */
  isFolder?: boolean;
}

export interface Picker {
  /** Type of the options. */
  of: string;
  /** Label of the empty field and of its list. */
  label: () => string;
  search(q: string, signal: AbortSignal): Promise<readonly Pick[]>;
  /** Returns the name of a value. Null if values are names. */
  nameOf: ((value: string, signal: AbortSignal) => Promise<string>) | null;
  /** Whether new names are as common as existing ones, so that Enter keeps the typed one if no option was selected. */
  isForNew?: true;
  /** Whether values are paths, which are edited where they are. */
  isPath?: true;
}

const words = (q: string) => ({ limit: MOST, ...(q === "" ? {} : { q }) });

const automations: Picker = {
  of: "automations",
  label: () => t("Search automations"),
  async search(q, signal) {
    const found = await call("GET /api/v1/automations", { query: words(q) }, { signal });
    return found.automations.map(({ id, name, slug }) => ({ value: id, name, about: slug }));
  },
  nameOf: async (id, signal) =>
    (await call("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } }, { signal })).name,
};

const agents: Picker = {
  of: "agents",
  label: () => t("Search agents"),
  async search(q, signal) {
    const { specs } = await call("GET /api/v1/agents/specs", { query: words(q) }, { signal });
    return specs.map(({ slug, name }) => ({ value: slug, name, about: slug }));
  },
  nameOf: null,
};

const connections: Picker = {
  of: "connections",
  label: () => t("Search connections"),
  async search(q, signal) {
    const found = await call("GET /api/v1/connections", { query: words(q) }, { signal });
    return found.connections.map(({ id, name, provider }) => ({ value: id, name, about: provider }));
  },
  nameOf: async (id, signal) =>
    (await call("GET /api/v1/connections/{connection_id}", { path: { connection_id: id } }, { signal })).name,
};

const apis: Picker = {
  of: "APIs",
  label: () => t("Search APIs"),
  async search(q, signal) {
    const found = await call("GET /api/v1/api-catalog", { query: words(q) }, { signal });
    return found.items.map(({ id, name, baseUrl, url }) => ({
      value: id,
      name,
      about: baseUrl ?? url ?? "",
    }));
  },
  nameOf: async (id, signal) =>
    (await call("GET /api/v1/api-catalog/{api_id}", { path: { api_id: id } }, { signal })).name,
};

const datasets: Picker = {
  of: "datasets",
  label: () => t("Search datasets"),
  async search(q, signal) {
    const found = await call("GET /api/v1/datasets", { query: words(q) }, { signal });
    return found.datasets.map(({ layer, dataset }) => ({ value: dataset, name: dataset, about: layer }));
  },
  nameOf: null,
  isForNew: true,
};

const artifacts: Picker = {
  of: "artifacts",
  label: () => t("Search artifacts"),
  async search(q, signal) {
    const found = await call("GET /api/v1/artifacts", { query: words(q) }, { signal });
    return found.artifacts.map(({ id, title, kind }) => ({ value: id, name: title ?? id, about: kind }));
  },
  nameOf: async (id, signal) =>
    (await call("GET /api/v1/artifacts/{artifact_id}", { path: { artifact_id: id } }, { signal })).title ??
    id,
};

const zones: Picker = {
  of: "zones",
  label: () => t("Search time zones"),
  async search(q) {
    const wanted = q.trim().replaceAll(" ", "_").toLowerCase();
    return ["UTC", ...Intl.supportedValuesOf("timeZone")]
      .filter((zone) => zone.toLowerCase().includes(wanted))
      .slice(0, MOST)
      .map((zone) => ({ value: zone, name: zone, about: offsetOf(zone) }));
  },
  nameOf: null,
};

/** Current UTC offset of a time zone, such as `GMT+1`. */
const offsetOf = (timeZone: string) =>
  new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "shortOffset" })
    .formatToParts()
    .find(({ type }) => type === "timeZoneName")?.value ?? "";

/** Folders and files of a connection, a folder at a time. */
const filesOf = (connectionId: string): Picker => ({
  of: `files of ${connectionId}`,
  label: () => t("Browse folders"),
  async search(q, signal) {
    const folder = q.slice(0, q.lastIndexOf("/") + 1) || "/";
    const start = q.slice(q.lastIndexOf("/") + 1).toLowerCase();
    const { items } = await call(
      "GET /api/v1/connections/{connection_id}/files",
      { path: { connection_id: connectionId }, query: { path: folder.replace(/(.)\/$/, "$1") } },
      { signal },
    );
    return items
      .filter(({ name }) => name.toLowerCase().startsWith(start))
      .map(({ name, kind }) => ({
        value: folder + name,
        name,
        about: kind === "folder" ? t("Folder") : t("File"),
        isFolder: kind === "folder",
      }))
      .sort((a, b) => Number(b.isFolder) - Number(a.isFolder))
      .slice(0, MOST_FILES);
  },
  nameOf: null,
  isPath: true,
});

const BY_NAME: Readonly<Record<string, Picker>> = {
  automationId: automations,
  agent: agents,
  connectionId: connections,
  apiId: apis,
  dataset: datasets,
  artifactId: artifacts,
  timezone: zones,
};

const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** The picker of a field. Null for a text field. A path is picked from the files of a connection. */
export function pickerOf(name: string, { type }: Schema, connectionId: string): Picker | null {
  if (type !== "string") return null;
  if (name === "path" && ID.test(connectionId)) return filesOf(connectionId);
  return Object.hasOwn(BY_NAME, name) ? (BY_NAME[name] ?? null) : null;
}

/** Search results. Loaded only while the list is open. */
export const usePicks = (picker: Picker, q: string, isOpen: boolean) =>
  useQuery({
    queryKey: ["pick", picker.of, q],
    queryFn: ({ signal }) => picker.search(q, signal),
    enabled: isOpen,
    staleTime: FRESH_MS,
  });

/** Keeps a field from showing the ID until the name is loaded. */
export const rememberName = (queries: QueryClient, { of }: Picker, { value, name }: Pick) =>
  queries.setQueryData(["name of", of, value], name);

/** Name of the ID in a field. Null if it isn't an ID, or nothing has it. */
export function useNameOf(picker: Picker, value: string): string | null {
  const isAsked = picker.nameOf !== null && ID.test(value);
  const { data } = useQuery({
    queryKey: ["name of", picker.of, value],
    queryFn: ({ signal }) => picker.nameOf?.(value, signal) ?? value,
    enabled: isAsked,
    staleTime: FRESH_MS,
    retry: false,
  });
  return isAsked ? (data ?? null) : null;
}
