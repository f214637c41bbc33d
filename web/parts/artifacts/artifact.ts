import { base } from "../../base.ts";
import type { Artifact } from "../../calls.ts";
import { t } from "../../texts/text.ts";

/** The file of an artifact. Null if its content is part of the artifact. */
export function fileOf({ kind, content }: Artifact): { name: string; type: string; bytes: number } | null {
  if (kind !== "file" || typeof content.data !== "object" || content.data === null) return null;
  const { fileName, mimeType, bytes } = content.data as Record<string, unknown>;
  return { name: String(fileName), type: String(mimeType), bytes: Number(bytes) };
}

const typeOf = (artifact: Artifact) => (fileOf(artifact)?.type.split(";")[0] ?? "").trim().toLowerCase();

export type Preview = "tree" | "text" | "html" | "image" | "none";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"];

/** How an artifact is shown. */
export function previewOf(artifact: Artifact): Preview {
  if (artifact.kind === "json") return artifact.content.storage === "inline" ? "tree" : "text";
  if (artifact.kind === "text") return "text";
  const type = typeOf(artifact);
  if (type === "text/html") return "html";
  if (IMAGES.includes(type)) return "image";
  return type.startsWith("text/") || /json|xml|yaml|csv|sql/.test(type) ? "text" : "none";
}

/** Returns whether it is a dashboard, by its data. False if the data is too large to be included. */
export const isBoard = ({ content: { data } }: Artifact): boolean =>
  typeof data === "object" && data !== null && "type" in data && data.type === "flashboard";

/** A dashboard, or a page that a run created. */
export const isDashboard = (artifact: Artifact): boolean =>
  isBoard(artifact) || previewOf(artifact) === "html";

/** Path of its page. Dashboards have an area of their own. */
export const pageOf = (artifact: Artifact): string =>
  `/${isDashboard(artifact) ? "dashboards" : "artifacts"}/${artifact.id}`;

export const titleOf = (artifact: Artifact): string =>
  artifact.title ?? fileOf(artifact)?.name ?? `${artifact.kind} ${artifact.id.slice(-12)}`;

const FILE_KINDS: Readonly<Record<string, string>> = {
  "text/html": "HTML",
  "text/csv": "CSV",
  "text/plain": t("Text"),
  "text/markdown": "Markdown",
  "application/json": "JSON",
  "application/pdf": "PDF",
  "application/vnd.apache.parquet": t("Parquet"),
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": t("Excel"),
};

/** Type of an artifact for people. Files of rare types show the media type. */
export function kindOf(artifact: Artifact): string {
  if (isBoard(artifact)) return t("Dashboard");
  if (artifact.kind === "json") return "JSON";
  if (artifact.kind === "text") return t("Text");
  if (previewOf(artifact) === "image") return t("Image");
  const type = typeOf(artifact);
  return FILE_KINDS[type] ?? (type || t("File"));
}

export const contentUrl = ({ id }: Pick<Artifact, "id">): string => `${base}/api/v1/artifacts/${id}/content`;
