import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import {
  instant,
  jsonObject,
  map,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  slug,
  typed,
  uuid,
} from "../../base/shape.ts";
import { HTTP_PROVIDER } from "../../providers/http-template/http-template.ts";
import { providers } from "../../providers/registry.ts";
import { People } from "../users/wire.ts";
import { APPROVAL_RULES, CONNECTION_STATUSES, type ConnectionRow } from "./table.ts";

const ApprovalRule = oneOf(APPROVAL_RULES, {
  description: "What requires approval by a person: nothing, writes, or every use. Only admins can set it",
  "x-default": "none",
});

export const Connection = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  provider: Type.String(),
  status: oneOf(CONNECTION_STATUSES),
  config: jsonObject(),
  hasCredentials: Type.Boolean(),
  isDefault: Type.Boolean(),
  approvalRequired: ApprovalRule,
  isFromTemplate: Type.Boolean(),
  templateId: nullable(uuid()),
  lastUsedAt: nullable(instant()),
  lastVerifiedAt: nullable(instant()),
  verificationError: nullable(Type.String()),
  createdAt: instant(),
  updatedAt: instant(),
  createdBy: nullable(Type.String()),
  updatedBy: nullable(Type.String()),
});

/** Both variants of a new connection. `creationFaults` checks which fields go together. */
export const ConnectionCreate = typed(
  "ConnectionCreate",
  requestObject({
    name: named(),
    provider: optional(
      Type.String({
        description: "ID of a provider, from GET /api/v1/connection-providers. Not with a template",
      }),
    ),
    config: optional(nullable(jsonObject())),
    /** Can be omitted if the provider needs none. */
    credentials: optional(map(nullable(Type.String()))),
    approvalRequired: optional(ApprovalRule),
    slug: optional(nullable(slug())),
    kind: optional(
      nullable(Type.Literal("from_template", { description: "Says that a template is used. Not required" })),
    ),
    templateId: optional(nullable(uuid())),
    templateSlug: optional(nullable(slug())),
    templateVersion: optional(nullable(Type.Integer({ minimum: 1 }))),
  }),
);
export type ConnectionCreate = Static<typeof ConnectionCreate>;

export const ConnectionPatchQuery = object({
  if_changed: optional(
    Type.Boolean({
      description: "Whether credentials equal to the stored ones count as unchanged. Default: false",
    }),
  ),
});

export const ConnectionPatch = object({
  name: optional(named()),
  slug: optional(slug()),
  approvalRequired: optional(ApprovalRule),
  config: optional(
    Type.Union([typed("ConnectionConfigChange", jsonObject()), Type.Null()], {
      description: "Keys to change. Each value is replaced entirely; null removes it",
    }),
  ),
  credentials: optional(
    Type.Union([map(nullable(Type.String())), Type.Null()], {
      description: "Keys to change; null removes one",
    }),
  ),
});
export type ConnectionPatch = Static<typeof ConnectionPatch>;

/** Changes to test without saving them. */
export const ConnectionTrial = object({
  config: ConnectionPatch.properties.config,
  credentials: ConnectionPatch.properties.credentials,
});
export type ConnectionTrial = Static<typeof ConnectionTrial>;

export const TrialResult = object({
  status: oneOf(["active", "error"], { description: "Status that the connection would have" }),
  verificationError: nullable(Type.String({ description: "Why the test failed. Null if it succeeded" })),
  field: nullable(
    Type.Array(Type.String(), {
      description:
        "Field that the failure is about, such as `credentials`, `password`. Null if the other system doesn't tell",
    }),
  ),
  durationSeconds: Type.Number(),
});
export type TrialResult = Static<typeof TrialResult>;

const SORTS = ["name", "created_at", "updated_at", "last_verified_at", "status", "provider"] as const;

export const ConnectionQuery = object({
  ids: optional(Type.Array(uuid(), { maxItems: 100, description: "Only the connections with these IDs" })),
  q: optional(Type.String({ maxLength: 255 })),
  provider: optional(
    Type.Array(oneOf([...providers.keys(), HTTP_PROVIDER]), {
      description: "Only connections of these providers",
    }),
  ),
  status: optional(
    Type.Array(oneOf(CONNECTION_STATUSES), { description: "Only connections with these statuses" }),
  ),
  sort_by: oneOf(SORTS, { default: "name" }),
  order: oneOf(["asc", "desc"], { default: "asc" }),
  ...offsetQuery(50),
  cursor: optional(
    Type.String({
      maxLength: 2048,
      description:
        "Empty for the first page, then `nextCursor` of the previous page. If omitted, pages go by offset",
    }),
  ),
});
export type ConnectionQuery = Static<typeof ConnectionQuery>;

export const ConnectionPage = object({
  connections: Type.Array(Connection),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  nextCursor: optional(
    Type.String({ description: "Cursor of the next page. Omitted on the last page, and without `cursor`" }),
  ),
  users: People,
});

export const ProviderList = object({
  providers: Type.Array(
    object({
      id: Type.String(),
      title: Type.String(),
      description: Type.String(),
      configSchema: jsonObject(),
      credentialsSchema: jsonObject(),
      capabilities: object({
        files: Type.Boolean(),
        upload: Type.Boolean(),
        schema: Type.Boolean(),
        http: Type.Boolean(),
        extract: Type.Boolean(),
        signIn: Type.Boolean({ description: "Whether a user can sign in for a connection of this provider" }),
      }),
    }),
  ),
  redirectUri: Type.String({ description: "Redirect URI to register with the app that users sign in with" }),
});
export type ProviderList = Static<typeof ProviderList>;

export const FileItem = object({
  id: Type.String(),
  name: Type.String(),
  kind: oneOf(["file", "folder"]),
  mimeType: nullable(Type.String()),
  size: nullable(Type.Integer()),
  modifiedAt: nullable(instant()),
});

const path = (options = {}) => Type.String({ minLength: 1, maxLength: 1024, ...options });

export const FileQuery = object({
  path: path({ default: "/", description: "Path or ID of a folder" }),
  page_token: optional(
    Type.String({ minLength: 1, maxLength: 12_288, description: "`nextPageToken` of the previous page" }),
  ),
});
export type FileQuery = Static<typeof FileQuery>;

export const FilePage = object({
  items: Type.Array(FileItem),
  nextPageToken: optional(Type.String()),
  path: Type.String(),
});

export const UploadQuery = object({
  path: path({ description: "Path of the file, such as /2026/orders.csv. Missing folders are created" }),
});

const IGNORED = "Accepted and ignored";

/** The other fields of an item in the list of files. */
const LISTED = {
  name: optional(Type.String({ description: IGNORED })),
  kind: optional(Type.String({ description: IGNORED })),
  mimeType: optional(nullable(Type.String({ description: IGNORED }))),
  size: optional(nullable(Type.Number({ description: IGNORED }))),
  modifiedAt: optional(nullable(Type.String({ description: IGNORED }))),
};

const itemPath = () => path({ description: "Path of the item" });

/** A path, an ID, or an item of the list of files. */
const SelectedItem = Type.Union([
  path(),
  object({ id: path({ description: "ID of the item" }), path: optional(itemPath()), ...LISTED }),
  object({ path: itemPath(), ...LISTED }),
]);
export type SelectedItem = Static<typeof SelectedItem>;

export const Selection = object({
  /** More than the allowed 10,000, so that one too many is reported as a violation. */
  selectedItems: Type.Array(SelectedItem, {
    maxItems: 20_000,
    description: "Paths or IDs of files and folders, or items of the list of files. At most 10,000",
  }),
  rootPath: optional(nullable(path({ description: "Folder that contains all items. Default: /" }))),
});
export type Selection = Static<typeof Selection>;

export const SELECTION_RULES = [
  "not_found",
  "outside_root",
  "too_deep",
  "too_many_items",
  "too_many_bytes",
] as const;

export const SelectionReport = object({
  valid: Type.Boolean(),
  maxDepth: Type.Integer({
    description: "Number of levels below rootPath. A file directly in it is at level 1",
  }),
  totalBytes: Type.Integer(),
  totalItems: Type.Integer({ description: "Number of files and folders" }),
  violations: Type.Array(
    object({ item: Type.String(), rule: oneOf(SELECTION_RULES), message: Type.String() }),
  ),
});
export type SelectionReport = Static<typeof SelectionReport>;

export const TableQuery = object({
  include_system: Type.Boolean({
    default: false,
    description: "Whether tables of the database system are listed",
  }),
});
export const TableList = object({
  tables: Type.Array(
    object({
      schema: Type.String(),
      table: Type.String(),
      spec: Type.String(),
      primaryKey: optional(
        Type.Array(Type.String(), {
          description: "Columns that extracts merge by. Only for a template's resource",
        }),
      ),
    }),
  ),
});

export const ColumnQuery = object({
  schema: Type.String({ minLength: 1, maxLength: 255 }),
  table: Type.String({ minLength: 1, maxLength: 255 }),
});
export type ColumnQuery = Static<typeof ColumnQuery>;
export const ColumnList = object({
  schema: Type.String(),
  table: Type.String(),
  columns: Type.Array(object({ name: Type.String(), dataType: Type.String(), nullable: Type.Boolean() })),
});

export const TablePreviewQuery = object({
  ...ColumnQuery.properties,
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
});
export const TablePreview = object({
  columns: ColumnList.properties.columns,
  rows: Type.Array(jsonObject()),
  truncated: Type.Boolean({ description: "True if the table has more rows than these" }),
});

export const FileContentQuery = object({ path: path({ description: "Path or ID of a file" }) });

export const FilePreviewQuery = object({ path: path({ description: "Path or ID of a file" }) });
export const FilePreview = object({
  path: Type.String(),
  text: nullable(Type.String({ description: "First 64 KiB of the file. Null if it isn't text" })),
  truncated: Type.Boolean(),
});

/** The only conversion of a connection's row for the API: it has no field for credentials. */
export const toConnection = (row: ConnectionRow): Static<typeof Connection> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  provider: row.provider,
  status: row.status,
  config: row.config,
  hasCredentials: row.hasCredentials,
  isDefault: row.isDefault,
  approvalRequired: row.approvalRequired,
  isFromTemplate: row.templateId !== null,
  templateId: row.templateId,
  lastUsedAt: row.lastUsedAt,
  lastVerifiedAt: row.lastVerifiedAt,
  verificationError: row.verificationError,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  createdBy: row.createdBy,
  updatedBy: row.updatedBy,
});

export const exampleConnection: Static<typeof Connection> = {
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  name: "Shop database",
  slug: "shop-database",
  provider: "postgres",
  status: "active",
  config: { host: "db.example.com", database: "shop" },
  hasCredentials: true,
  isDefault: false,
  approvalRequired: "none",
  isFromTemplate: false,
  templateId: null,
  lastUsedAt: null,
  lastVerifiedAt: "2026-01-01T00:00:00.000Z",
  verificationError: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  createdBy: "01890a5d-ac96-774b-bcce-b302099a8058",
  updatedBy: "01890a5d-ac96-774b-bcce-b302099a8058",
};

export const exampleNewConnection = {
  name: "Shop database",
  provider: "postgres",
  config: { host: "db.example.com", database: "shop" },
  credentials: { user: "weir", password: "correct horse battery staple" },
};

export const exampleTrial: TrialResult = {
  status: "error",
  verificationError: 'db.example.com:5432 rejected the password of the user "weir".',
  field: ["credentials", "password"],
  durationSeconds: 0.12,
};
