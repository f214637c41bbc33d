import { attachment } from "../../base/disposition.ts";
import { object, uuid } from "../../base/shape.ts";
import { operation, Reply } from "../../http/operation.ts";
import { refuseRangeBeyond } from "../../http/range.ts";
import { DATA_POLICY } from "../../http/serve.ts";
import { refuseOthers } from "../runs/wire-private.ts";
import { fileNameOf, openContent } from "./content.ts";
import { createArtifact, deleteArtifact, findArtifact, listArtifacts } from "./service.ts";
import { Artifact, ArtifactCreate, ArtifactPage, ArtifactQuery, toArtifact } from "./wire.ts";

const tag = "Artifacts";
const params = object({ artifact_id: uuid() });

export const artifactOperations = [
  operation({
    method: "GET",
    path: "/api/v1/artifacts",
    audience: "viewer",
    tag,
    summary: "List artifacts",
    query: ArtifactQuery,
    response: ArtifactPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listArtifacts(ctx, query);
      const { limit, offset } = query;
      return {
        artifacts: rows.map((row) => toArtifact(ctx, row)),
        hasNext: offset + rows.length < total,
        limit,
        offset,
        total,
      };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/artifacts",
    audience: "member",
    tag,
    summary: "Create an artifact",
    description:
      "Adds an artifact to a run. `content` is any JSON for the kind `json`, a string for `text`, and for `file` an object `{fileName, mimeType, data}` with base64-encoded `data`, or a string with the file's text. Files, and content larger than 256 KiB, are stored as files: `content.data` is then null or describes the file, and `/content` returns the bytes.",
    body: ArtifactCreate,
    takesData: true,
    status: 201,
    response: Artifact,
    idempotent: true,
    handle: async ({ ctx, body }) => toArtifact(ctx, await createArtifact(ctx, body)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/artifacts/{artifact_id}",
    audience: "viewer",
    tag,
    summary: "Get an artifact",
    params,
    response: Artifact,
    handle: async ({ ctx, params }) => toArtifact(ctx, await findArtifact(ctx, params.artifact_id)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/artifacts/{artifact_id}",
    audience: "member",
    tag,
    summary: "Delete an artifact",
    params,
    status: 204,
    async handle({ ctx, params }) {
      await deleteArtifact(ctx, params.artifact_id);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/artifacts/{artifact_id}/content",
    audience: "viewer",
    tag,
    summary: "Download an artifact",
    description:
      "In the artifact's media type: JSON, plain text, or the file's own. Content that is stored as a file can be requested in part, with one range of bytes in `Range`.",
    params,
    produces: "*/*",
    errors: [410, 416],
    async handle({ ctx, visit, params }) {
      const row = await findArtifact(ctx, params.artifact_id);
      refuseOthers(ctx, row);
      const content = await openContent(ctx, row);
      if (row.path !== null) refuseRangeBeyond(visit.request.headers, content.size);
      return new Reply(200, content, {
        "content-type": row.mimeType ?? "application/octet-stream",
        "content-disposition": attachment(fileNameOf(row)),
        "content-security-policy": `${DATA_POLICY}; sandbox`,
      });
    },
  }),
];
