import { AppError, notFound } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import { sqlName } from "../../lake/views.ts";
import { findRun } from "../../queue/cancel.ts";
import { openContent } from "../artifacts/content.ts";
import { findArtifact, listArtifacts } from "../artifacts/service.ts";
import type { ArtifactRow } from "../artifacts/table.ts";
import { toArtifact } from "../artifacts/wire.ts";
import { listDatasets } from "../datasets/service.ts";
import { listRuns } from "../runs/list.ts";
import { toRun } from "../runs/wire.ts";
import { refuseOthers } from "../runs/wire-private.ts";

/** What external agents read by a URI. */
interface OutsideResource {
  uri: string;
  name: string;
  description: string;
  mimeType: string;
}

interface Contents {
  uri: string;
  mimeType: string;
  text?: string;
  blob?: string;
}

/** Maximum per type, newest first. Others can be read by their URIs. */
const MOST = 50;
const MAX_BYTES = 1024 * 1024;
const JSON_TYPE = "application/json";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: "weir://datasets/{layer}/{dataset}",
    name: "Dataset",
    description: "The tables of a dataset with their columns and row counts.",
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: "weir://runs/{id}",
    name: "Run",
    description: "A run of an action: status, progress, result and error.",
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: "weir://artifacts/{id}",
    name: "Artifact",
    description: "The content of a file, text or JSON that a run left.",
    mimeType: "application/octet-stream",
  },
] as const;

/** Returns the datasets, and the latest runs and artifacts. */
export async function outsideResources(ctx: Context): Promise<OutsideResource[]> {
  const page = { limit: MOST, offset: 0 };
  const [{ datasets }, runs, artifacts] = await Promise.all([
    listDatasets(ctx, page),
    listRuns(ctx, page),
    listArtifacts(ctx, page),
  ]);
  return [
    ...datasets.map(({ layer, dataset, tables }) => ({
      uri: `weir://datasets/${layer}/${dataset}`,
      name: `${layer}.${dataset}`,
      description: `Dataset with ${tables.map(({ name }) => name).join(", ")}`,
      mimeType: JSON_TYPE,
    })),
    ...runs.rows.map(({ id, kind, status, createdAt }) => ({
      uri: `weir://runs/${id}`,
      name: `${kind} of ${createdAt}`,
      description: `Run, ${status}`,
      mimeType: JSON_TYPE,
    })),
    ...artifacts.rows.map((row) => ({
      uri: `weir://artifacts/${row.id}`,
      name: toArtifact(ctx, row).title ?? `Artifact of ${row.createdAt}`,
      description: `Artifact, ${row.kind}`,
      mimeType: typeOf(row),
    })),
  ];
}

/** Reads a resource. Throws `not_found`, and `payload_too_large` for an artifact of more than 1 MiB. */
export async function readResource(ctx: Context, uri: string): Promise<Contents> {
  const [sort, first = "", second, ...more] = uri.startsWith("weir://")
    ? uri.slice("weir://".length).split("/")
    : [];
  if (more.length > 0) throw notFound("resource");
  if (sort === "datasets" && second !== undefined) return dataset(ctx, uri, first, second);
  if (second !== undefined || !UUID.test(first)) throw notFound("resource");
  if (sort === "runs") return json(uri, toRun(ctx, await findRun(ctx, first)));
  if (sort === "artifacts") return artifact(ctx, uri, first);
  throw notFound("resource");
}

const json = (uri: string, value: object): Contents => ({
  uri,
  mimeType: JSON_TYPE,
  text: JSON.stringify(value),
});

async function dataset(ctx: Context, uri: string, layer: string, name: string): Promise<Contents> {
  const { datasets } = await listDatasets(ctx, { layer, q: name, limit: 100, offset: 0 });
  const found = datasets.find((each) => each.layer === layer && each.dataset === name);
  if (!found) throw notFound("dataset");
  const tables = found.tables.map(({ name: table, rows, bytes, columns }) => ({
    table: `${layer}.${sqlName({ dataset: name, table })}`,
    rows,
    bytes,
    columns: columns.map((column) => ({ ...column })),
  }));
  return json(uri, { layer, dataset: name, updatedAt: found.updatedAt, tables });
}

async function artifact(ctx: Context, uri: string, id: string): Promise<Contents> {
  const row = await findArtifact(ctx, id);
  refuseOthers(ctx, row);
  const content = await openContent(ctx, row);
  if (content.size > MAX_BYTES)
    throw new AppError("payload_too_large", "This artifact is larger than 1 MiB. Download it from Weir.");
  const mimeType = typeOf(row);
  const bytes = new Uint8Array(await content.arrayBuffer());
  if (/^text\/|json|xml|yaml|csv/.test(mimeType))
    return { uri, mimeType, text: new TextDecoder().decode(bytes) };
  return { uri, mimeType, blob: Buffer.from(bytes).toString("base64") };
}

const typeOf = ({ kind, mimeType }: ArtifactRow): string =>
  mimeType ?? { json: JSON_TYPE, text: "text/plain", file: "application/octet-stream" }[kind];
