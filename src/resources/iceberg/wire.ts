import { type Static, Type } from "@sinclair/typebox";
import { anything, described, nullable, object, oneOf, optional } from "../../base/shape.ts";

/** Separates the levels of a namespace in a URL. */
export const SEPARATOR = "\u001f";

const MAX_CHARACTERS = 600;
const name = () => Type.String({ minLength: 1, maxLength: MAX_CHARACTERS });

const prefix = () =>
  Type.String({ minLength: 1, maxLength: MAX_CHARACTERS, description: "`prefix` of the configuration." });
const namespace = () =>
  Type.String({
    minLength: 1,
    maxLength: MAX_CHARACTERS,
    description: "A layer, or a layer and a dataset with `%1F` between them.",
  });

export const CatalogRef = object({ prefix: prefix() });
export const NamespaceRef = object({ prefix: prefix(), namespace: namespace() });
export const TableRef = object({ prefix: prefix(), namespace: namespace(), table: name() });

/** Other versions of engines send unknown fields, which are accepted. */
const query = <P extends Parameters<typeof object>[0]>(properties: P) =>
  object(properties, { additionalProperties: Type.Unknown() });

const page = () => ({
  pageToken: optional(
    Type.String({
      maxLength: 2048,
      description: "`next-page-token` of the previous page, or empty for the first. If omitted, everything.",
    }),
  ),
  pageSize: optional(Type.Integer({ minimum: 1, maximum: 1000, description: "Default: 100." })),
});

export const ConfigQuery = query({
  warehouse: optional(
    Type.String({
      maxLength: MAX_CHARACTERS,
      description: "The organization, by slug or ID. If omitted, the token's.",
    }),
  ),
});
export const NamespaceQuery = query({
  parent: optional(
    Type.String({
      maxLength: MAX_CHARACTERS,
      description: "A layer, to list its datasets. If omitted, the layers are listed.",
    }),
  ),
  ...page(),
});
export const TableQuery = query(page());
export const LoadQuery = query({
  snapshots: optional(
    oneOf(["all", "refs"], { description: "`all`, or `refs` for only the current snapshot." }),
  ),
});

export interface PageQuery {
  pageToken?: string;
  pageSize?: number;
}

const texts = () => Type.Record(Type.String(), Type.String());
const levels = () => Type.Array(Type.String());
const nextPage = () => nullable(Type.String());

export const IcebergConfig = object({
  defaults: texts(),
  overrides: texts(),
  endpoints: Type.Array(Type.String()),
});
export const IcebergNamespacePage = object({
  namespaces: Type.Array(levels()),
  "next-page-token": nextPage(),
});
export const IcebergNamespace = object({ namespace: levels(), properties: texts() });
export const IcebergTablePage = object({
  identifiers: Type.Array(object({ namespace: levels(), name: Type.String() })),
  "next-page-token": nextPage(),
});
export const IcebergTable = object({
  "metadata-location": Type.String(),
  metadata: described("Table metadata as the Iceberg specification defines it, format version 2", anything()),
  config: texts(),
});

export const IcebergError = object({
  error: object({ message: Type.String(), type: Type.String(), code: Type.Integer() }),
});

export const IcebergTokenRequest = object({
  grant_type: Type.String({ maxLength: 200, description: "Always `client_credentials`." }),
  client_id: optional(Type.String({ maxLength: 2000, description: "Accepted and ignored." })),
  client_secret: optional(
    Type.String({ maxLength: 2000, description: "An access token or API key of Weir." }),
  ),
  scope: optional(Type.String({ maxLength: 2000, description: "Accepted and ignored." })),
});
export type IcebergTokenRequest = Static<typeof IcebergTokenRequest>;

export const IcebergToken = object({
  access_token: Type.String(),
  token_type: Type.String(),
  issued_token_type: Type.String(),
});
