import type {
  ArtifactPage,
  ArtifactQuery,
  Artifact as ArtifactShape,
} from "../../src/resources/artifacts/wire.ts";
import type {
  ColumnList,
  ColumnQuery,
  ConnectionCreate,
  ConnectionPage,
  ConnectionPatch,
  ConnectionQuery,
  Connection as ConnectionShape,
  FileItem,
  FilePage,
  FilePreview,
  FilePreviewQuery,
  FileQuery,
  ProviderList,
  TableList,
  TablePreview,
  TablePreviewQuery,
  TableQuery,
  UploadQuery,
} from "../../src/resources/connections/wire.ts";
import type {
  DatasetPage,
  DatasetQuery,
  PreviewQuery,
  Preview as PreviewShape,
} from "../../src/resources/datasets/wire.ts";
import type { QueryFormat, QueryRequest, QueryResult } from "../../src/resources/query/wire.ts";
import type { Asked, Nothing, Of } from "./shape.ts";

/** Connections, and the data and files that come of them. */
export interface DataCalls {
  "GET /api/v1/connection-providers": { reply: Of<typeof ProviderList> };
  "GET /api/v1/connections": { query: Asked<typeof ConnectionQuery>; reply: Of<typeof ConnectionPage> };
  "POST /api/v1/connections": { body: Of<typeof ConnectionCreate>; reply: Of<typeof ConnectionShape> };
  "GET /api/v1/connections/{connection_id}": { reply: Of<typeof ConnectionShape> };
  "PATCH /api/v1/connections/{connection_id}": {
    body: Of<typeof ConnectionPatch>;
    reply: Of<typeof ConnectionShape>;
  };
  "DELETE /api/v1/connections/{connection_id}": { reply: Nothing };
  "POST /api/v1/connections/{connection_id}/verify": { reply: Of<typeof ConnectionShape> };
  "POST /api/v1/connections/{connection_id}/disable": { reply: Of<typeof ConnectionShape> };
  "POST /api/v1/connections/{connection_id}/reactivate": { reply: Of<typeof ConnectionShape> };
  "POST /api/v1/connections/{connection_id}/set-default": { reply: Of<typeof ConnectionShape> };
  "GET /api/v1/connections/{connection_id}/files": {
    query: Asked<typeof FileQuery>;
    reply: Of<typeof FilePage>;
  };
  "PUT /api/v1/connections/{connection_id}/files": {
    query: Of<typeof UploadQuery>;
    reply: Of<typeof FileItem>;
  };
  "GET /api/v1/connections/{connection_id}/schema/tables": {
    query: Asked<typeof TableQuery>;
    reply: Of<typeof TableList>;
  };
  "GET /api/v1/connections/{connection_id}/schema/columns": {
    query: Of<typeof ColumnQuery>;
    reply: Of<typeof ColumnList>;
  };
  "GET /api/v1/connections/{connection_id}/schema/preview": {
    query: Asked<typeof TablePreviewQuery>;
    reply: Of<typeof TablePreview>;
  };
  "GET /api/v1/connections/{connection_id}/files/preview": {
    query: Of<typeof FilePreviewQuery>;
    reply: Of<typeof FilePreview>;
  };
  "GET /api/v1/artifacts": { query: Asked<typeof ArtifactQuery>; reply: Of<typeof ArtifactPage> };
  "GET /api/v1/artifacts/{artifact_id}": { reply: Of<typeof ArtifactShape> };
  "DELETE /api/v1/artifacts/{artifact_id}": { reply: Nothing };
  "GET /api/v1/artifacts/{artifact_id}/content": { reply: never };
  "GET /api/v1/datasets": { query: Asked<typeof DatasetQuery>; reply: Of<typeof DatasetPage> };
  "GET /api/v1/datasets/{layer}/{dataset}/preview": {
    query: Asked<typeof PreviewQuery>;
    reply: Of<typeof PreviewShape>;
  };
  "DELETE /api/v1/datasets/{layer}/{dataset}": { reply: Nothing };
  "POST /api/v1/query": {
    query: Of<typeof QueryFormat>;
    body: Partial<Of<typeof QueryRequest>> & { sql: string };
    reply: Of<typeof QueryResult>;
  };
}
