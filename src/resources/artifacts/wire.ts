import { type Static, Type } from "@sinclair/typebox";
import {
  anything,
  described,
  instant,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { isHidden, type Viewer, WHY } from "../runs/wire-private.ts";
import { ARTIFACT_KINDS, type ArtifactRow } from "./table.ts";

const STORAGES = ["inline", "file"] as const;

export const Artifact = object({
  id: uuid(),
  actionRunId: uuid(),
  kind: oneOf(ARTIFACT_KINDS),
  storageType: oneOf(STORAGES),
  title: nullable(Type.String()),
  content: object({
    kind: oneOf(ARTIFACT_KINDS),
    storage: oneOf(STORAGES),
    /** Name, media type and size of a file. Null for large JSON or text, which is in a file. */
    data: anything(),
  }),
  createdAt: instant(),
  updatedAt: instant(),
});
export type Artifact = Static<typeof Artifact>;

export const ArtifactCreate = object({
  actionRunId: uuid(),
  kind: oneOf(ARTIFACT_KINDS, { description: "Type of the content" }),
  title: optional(nullable(Type.String({ maxLength: 255 }))),
  content: optional(described("JSON, a text, or a file, by the kind", anything())),
});
export type ArtifactCreate = Static<typeof ArtifactCreate>;

/** `content` of the kind `file`, unless it is text. */
export const FileContent = object({
  fileName: optional(
    Type.String({ minLength: 1, maxLength: 255, pattern: "^[^/\\\\\\u0000-\\u001f\\u007f]+$" }),
  ),
  mimeType: Type.String({
    maxLength: 127,
    pattern: "^[A-Za-z0-9][A-Za-z0-9!#$&^_.+\\-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+\\-]*$",
    default: "application/octet-stream",
  }),
  data: Type.String({ description: "The bytes, in base64." }),
});
export type FileContent = Static<typeof FileContent>;

export const ArtifactQuery = object({
  q: optional(Type.String({ maxLength: 255, description: "Text in the title" })),
  action_run_id: optional(uuid()),
  kind: optional(oneOf(ARTIFACT_KINDS, { description: "Only artifacts of this kind" })),
  ...offsetQuery(100),
});
export type ArtifactQuery = Static<typeof ArtifactQuery>;

export const ArtifactPage = object({
  artifacts: Type.Array(Artifact),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
});

/** The only conversion of an artifact's row for the API. Other users only see that a private one exists. */
export const toArtifact = (viewer: Viewer, row: ArtifactRow): Artifact => ({
  id: row.id,
  actionRunId: row.actionRunId,
  kind: row.kind,
  storageType: row.storageType,
  title: isHidden(viewer, row) ? null : row.title,
  content: {
    kind: row.kind,
    storage: row.storageType,
    data: isHidden(viewer, row) ? { private: WHY } : row.data,
  },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});
