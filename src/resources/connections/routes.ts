import { attachment } from "../../base/disposition.ts";
import { object, slug, uuid } from "../../base/shape.ts";
import { operation, Reply } from "../../http/operation.ts";
import { DATA_POLICY } from "../../http/serve.ts";
import { readUpload } from "../../http/upload.ts";
import { usersById } from "../users/people.ts";
import { listColumns, listFiles, listTables } from "./browse.ts";
import { deleteFile, openFile } from "./content.ts";
import { createConnection } from "./create.ts";
import { deleteConnection } from "./delete.ts";
import { creationFaults } from "./input.ts";
import { listConnections } from "./list.ts";
import { previewFile, previewTable } from "./preview.ts";
import { describeProviders } from "./providers.ts";
import { validateSelection } from "./selection.ts";
import { findConnection, findConnectionBySlug } from "./service.ts";
import { SIGN_IN_CALLBACK } from "./sign-in-store.ts";
import { disableConnection, reactivateConnection, setDefaultConnection } from "./status.ts";
import { testChangedConnection, testNewConnection } from "./trial.ts";
import { updateConnection, updateFaults } from "./update.ts";
import { MAX_UPLOAD_BYTES, uploadFile } from "./upload.ts";
import { usesOf } from "./uses.ts";
import { verifyConnection } from "./verify.ts";
import {
  ColumnList,
  ColumnQuery,
  Connection,
  ConnectionCreate,
  ConnectionPage,
  ConnectionPatch,
  ConnectionPatchQuery,
  ConnectionQuery,
  ConnectionTrial,
  exampleConnection,
  exampleNewConnection,
  exampleTrial,
  FileContentQuery,
  FileItem,
  FilePage,
  FilePreview,
  FilePreviewQuery,
  FileQuery,
  ProviderList,
  Selection,
  SelectionReport,
  TableList,
  TablePreview,
  TablePreviewQuery,
  TableQuery,
  TrialResult,
  toConnection,
  UploadQuery,
} from "./wire.ts";
import { ConnectionUses } from "./wire-uses.ts";

const tag = "Connections";
const params = object({ connection_id: uuid() });
const example = exampleConnection;
/** Errors of operations that call the external system. */
const REMOTE = [400, 404, 409, 502, 504] as const;

export const connectionOperations = [
  operation({
    method: "GET",
    path: "/api/v1/connections",
    audience: "viewer",
    tag,
    summary: "List connections",
    description: "Pages by offset or by cursor.",
    query: ConnectionQuery,
    response: ConnectionPage,
    errors: [410],
    async handle({ ctx, query }) {
      const { rows, ...page } = await listConnections(ctx, query);
      const users = await usersById(
        ctx,
        rows.flatMap((row) => [row.createdBy, row.updatedBy]),
      );
      return { connections: rows.map(toConnection), limit: query.limit, ...page, users };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections",
    audience: "member",
    tag,
    summary: "Create a connection",
    description: "From a provider or a template.",
    body: ConnectionCreate,
    bodyExample: exampleNewConnection,
    faults: creationFaults,
    status: 201,
    response: Connection,
    idempotent: true,
    errors: [409],
    example: { ...example, status: "needs_verification", lastVerifiedAt: null },
    handle: async ({ ctx, body }) => toConnection(await createConnection(ctx, body)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/test",
    audience: "member",
    tag,
    summary: "Test a new connection",
    description:
      "Sends a real request with these settings, without creating the connection. An organization can test 30 times a minute.",
    body: ConnectionCreate,
    bodyExample: exampleNewConnection,
    faults: creationFaults,
    response: TrialResult,
    errors: [409],
    example: exampleTrial,
    handle: ({ ctx, body }) => testNewConnection(ctx, body),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/slug/{slug}",
    audience: "viewer",
    tag,
    summary: "Get a connection by slug",
    params: object({ slug: slug() }),
    response: Connection,
    errors: [404],
    example,
    handle: async ({ ctx, params }) => toConnection(await findConnectionBySlug(ctx, params.slug)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}",
    audience: "viewer",
    tag,
    summary: "Get a connection",
    params,
    response: Connection,
    errors: [404],
    example,
    handle: async ({ ctx, params }) => toConnection(await findConnection(ctx, params.connection_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/connections/{connection_id}",
    audience: "member",
    tag,
    summary: "Update a connection",
    description:
      "Changes only the fields in the body. Credentials count as changed even if they are the stored ones, and the connection has to be verified again, unless `if_changed` is true.",
    params,
    query: ConnectionPatchQuery,
    body: ConnectionPatch,
    furtherFaults: ({ ctx, params: { connection_id = "" }, raw }) => updateFaults(ctx, connection_id, raw),
    response: Connection,
    errors: [404, 409],
    example,
    handle: async ({ ctx, params, query, body }) =>
      toConnection(
        await updateConnection(ctx, params.connection_id, body, { keepsSame: query.if_changed === true }),
      ),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/connections/{connection_id}",
    audience: "member",
    tag,
    summary: "Delete a connection",
    description: "409 if anything still uses it.",
    params,
    status: 204,
    errors: [404, 409],
    handle: ({ ctx, params }) => deleteConnection(ctx, params.connection_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/disable",
    audience: "member",
    tag,
    summary: "Disable a connection",
    description: "Runs that need it fail.",
    params,
    response: Connection,
    errors: [404, 409],
    example: { ...example, status: "disabled" },
    handle: async ({ ctx, params }) => toConnection(await disableConnection(ctx, params.connection_id)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/reactivate",
    audience: "member",
    tag,
    summary: "Reactivate a connection",
    description: "It must be verified again.",
    params,
    response: Connection,
    errors: [404, 409],
    example: { ...example, status: "needs_verification" },
    handle: async ({ ctx, params }) => toConnection(await reactivateConnection(ctx, params.connection_id)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/verify",
    audience: "member",
    tag,
    summary: "Verify a connection",
    description: "Sends a real request and stores the result.",
    params,
    response: Connection,
    errors: [404, 409],
    example,
    handle: async ({ ctx, params }) => toConnection(await verifyConnection(ctx, params.connection_id)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/test",
    audience: "member",
    tag,
    summary: "Test changes to a connection",
    description:
      "Sends a real request with the stored settings and these changes, without saving them. As with an update, another destination needs the credentials again.",
    params,
    body: ConnectionTrial,
    bodyExample: { config: { database: "shop_2026" } },
    response: TrialResult,
    errors: [404, 409],
    example: exampleTrial,
    handle: ({ ctx, params, body }) => testChangedConnection(ctx, params.connection_id, body),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/set-default",
    audience: "member",
    tag,
    summary: "Set as default connection",
    description: "Of its provider.",
    params,
    response: Connection,
    errors: [404],
    example: { ...example, isDefault: true },
    handle: async ({ ctx, params }) => toConnection(await setDefaultConnection(ctx, params.connection_id)),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/files",
    audience: "viewer",
    tag,
    summary: "List files",
    description: "Of a folder: folders first, then files. The path of a file lists just that file.",
    params,
    query: FileQuery,
    response: FilePage,
    errors: [...REMOTE, 410],
    handle: ({ ctx, params, query, visit }) =>
      listFiles(ctx, params.connection_id, query, visit.request.signal),
  }),
  operation({
    method: "PUT",
    path: "/api/v1/connections/{connection_id}/files",
    audience: "member",
    tag,
    summary: "Upload a file",
    description: "The raw body is the file. The limit is 1 GiB.",
    params,
    query: UploadQuery,
    consumes: "application/octet-stream",
    status: 201,
    response: FileItem,
    errors: [...REMOTE, 408, 413, 415],
    handle: ({ app, ctx, params, query, visit }) =>
      uploadFile(ctx, params.connection_id, {
        path: query.path,
        open: () => readUpload(app, visit, MAX_UPLOAD_BYTES),
        signal: visit.request.signal,
      }),
  }),
  operation({
    method: "POST",
    path: "/api/v1/connections/{connection_id}/files/validate",
    audience: "viewer",
    tag,
    summary: "Validate a file selection",
    params,
    body: Selection,
    takesData: true,
    response: SelectionReport,
    errors: REMOTE,
    handle: ({ ctx, params, body, visit }) =>
      validateSelection(ctx, params.connection_id, body, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/uses",
    audience: "viewer",
    tag,
    summary: "List what uses a connection",
    description: "All actions, automation steps and APIs that use it. While any exist, it can't be deleted.",
    params,
    response: ConnectionUses,
    handle: ({ ctx, params }) => usesOf(ctx, params.connection_id),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/schema/tables",
    audience: "viewer",
    tag,
    summary: "List tables and views",
    params,
    query: TableQuery,
    response: TableList,
    errors: REMOTE,
    handle: async ({ ctx, params, query, visit }) => ({
      tables: await listTables(ctx, params.connection_id, query.include_system, visit.request.signal),
    }),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/schema/columns",
    audience: "viewer",
    tag,
    summary: "List the columns of a table",
    params,
    query: ColumnQuery,
    response: ColumnList,
    errors: REMOTE,
    handle: async ({ ctx, params, query, visit }) => ({
      ...query,
      columns: await listColumns(ctx, params.connection_id, query, visit.request.signal),
    }),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/schema/preview",
    audience: "member",
    tag,
    summary: "Preview a table",
    description: "The first rows, as the source returns them.",
    params,
    query: TablePreviewQuery,
    response: TablePreview,
    errors: REMOTE,
    handle: ({ ctx, params, query, visit }) =>
      previewTable(ctx, params.connection_id, query, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/files/preview",
    audience: "member",
    tag,
    summary: "Preview a text file",
    params,
    query: FilePreviewQuery,
    response: FilePreview,
    errors: REMOTE,
    handle: ({ ctx, params, query, visit }) =>
      previewFile(ctx, params.connection_id, query.path, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connections/{connection_id}/files/content",
    audience: "member",
    tag,
    summary: "Download a file",
    params,
    query: FileContentQuery,
    produces: "application/octet-stream",
    errors: REMOTE,
    async handle({ ctx, params, query, visit }) {
      const { item, bytes } = await openFile(ctx, params.connection_id, query.path, visit.request.signal);
      return new Reply(200, bytes, {
        "content-type": "application/octet-stream",
        "content-disposition": attachment(item.name),
        "content-security-policy": `${DATA_POLICY}; sandbox`,
      });
    },
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/connections/{connection_id}/files",
    audience: "member",
    tag,
    summary: "Delete a file",
    description: "Google Drive moves it to the trash.",
    params,
    query: FileContentQuery,
    status: 204,
    errors: REMOTE,
    handle: ({ ctx, params, query, visit }) =>
      deleteFile(ctx, params.connection_id, query.path, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/connection-providers",
    audience: "viewer",
    tag,
    summary: "List providers",
    description: "With the JSON schemas of each provider's config and credentials.",
    response: ProviderList,
    handle: async ({ app }) => ({
      providers: describeProviders(app),
      redirectUri: app.baseUrl() + SIGN_IN_CALLBACK,
    }),
  }),
];
