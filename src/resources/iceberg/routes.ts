import { Type } from "@sinclair/typebox";
import { AppError, OAuthError } from "../../base/errors.ts";
import { object } from "../../base/shape.ts";
import { identify } from "../../http/identity.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { findNamespace, findTable, listNamespaces, listTables, loadTable } from "./catalog.ts";
import {
  CatalogRef,
  ConfigQuery,
  IcebergConfig,
  IcebergError,
  IcebergNamespace,
  IcebergNamespacePage,
  IcebergTable,
  IcebergTablePage,
  IcebergToken,
  IcebergTokenRequest,
  LoadQuery,
  NamespaceQuery,
  NamespaceRef,
  SEPARATOR,
  TableQuery,
  TableRef,
} from "./wire.ts";

const tag = "Iceberg";

const refusal = (code: number, type: string, message: string) => ({
  description: "The error, as the Iceberg REST catalog specification defines it.",
  body: IcebergError,
  example: { error: { message, type, code } },
});

const replies = {
  400: refusal(400, "BadRequestException", "query.pageToken: Invalid cursor for this list"),
  401: refusal(401, "NotAuthorizedException", "Invalid access token. It may have expired or been revoked."),
  403: refusal(403, "ForbiddenException", "This access token lacks the scope read. It has approve."),
  404: refusal(404, "NoSuchTableException", "Table raw.shop.orders not found."),
  429: refusal(429, "TooManyRequestsException", "Too many requests. Try again in 5 seconds."),
  503: refusal(503, "ServiceUnavailableException", "The lake's bucket can't be used."),
};

const iceberg = {
  organizationOf({ url }: Visit) {
    const [, prefix] = /^\/iceberg\/v1\/([^/]+)\/./.exec(url.pathname) ?? [];
    const [warehouse = "", ...more] = url.searchParams.getAll("warehouse");
    return prefix ?? (more.length === 0 && warehouse !== "" ? warehouse : null);
  },
};

const shared = { audience: "viewer", tag, iceberg, replies } as const;

const CATALOG = "/iceberg/v1/{prefix}/namespaces";
const ENDPOINTS = ["", "/{namespace}", "/{namespace}/tables", "/{namespace}/tables/{table}"] as const;

/** Responds with an existing resource. `HEAD` gets no body. */
const found = ({ request }: Visit, body: unknown) =>
  request.method === "HEAD" ? new Reply(204, null) : body;

export const icebergOperations = [
  operation({
    ...shared,
    method: "GET",
    path: "/iceberg/v1/config",
    summary: "Get the Iceberg catalog's configuration",
    description:
      "A read-only Iceberg REST catalog over the organization's tables, for engines such as DuckDB, Spark, Trino and pyiceberg. Their catalog URI is `/iceberg`.",
    query: ConfigQuery,
    response: IcebergConfig,
    example: {
      defaults: {},
      overrides: { prefix: "0197…", "rest-metrics-reporting-enabled": "false" },
      endpoints: ["GET /v1/{prefix}/namespaces"],
    },
    async handle({ ctx }) {
      const paths = ENDPOINTS.map((path) => `/v1/{prefix}/namespaces${path}`);
      const heads = paths.filter((path) => path.endsWith("}")).map((path) => `HEAD ${path}`);
      return {
        defaults: {},
        overrides: { prefix: ctx.organizationId, "rest-metrics-reporting-enabled": "false" },
        endpoints: [...paths.map((path) => `GET ${path}`), ...heads],
      };
    },
  }),
  operation({
    ...shared,
    method: "GET",
    path: CATALOG,
    summary: "List Iceberg namespaces",
    description: "The layers, or the datasets of the layer `parent`.",
    params: CatalogRef,
    query: NamespaceQuery,
    response: IcebergNamespacePage,
    example: { namespaces: [["raw"], ["marts"]], "next-page-token": null },
    async handle({ ctx, query }) {
      const { items, next } = await listNamespaces(ctx, query.parent, query);
      return { namespaces: items, "next-page-token": next };
    },
  }),
  operation({
    ...shared,
    method: "GET",
    path: `${CATALOG}/{namespace}`,
    summary: "Get an Iceberg namespace",
    params: NamespaceRef,
    response: IcebergNamespace,
    example: { namespace: ["raw", "shop"], properties: {} },
    async handle({ ctx, params, visit }) {
      const { layer, dataset } = await findNamespace(ctx, levelsOf(params.namespace));
      const levels = dataset === null ? [layer] : [layer, dataset];
      return found(visit, { namespace: levels, properties: {} });
    },
  }),
  operation({
    ...shared,
    method: "GET",
    path: `${CATALOG}/{namespace}/tables`,
    summary: "List Iceberg tables",
    description: "The tables of a dataset. A layer has none by itself.",
    params: NamespaceRef,
    query: TableQuery,
    response: IcebergTablePage,
    example: {
      identifiers: [{ namespace: ["raw", "shop"], name: "orders" }],
      "next-page-token": null,
    },
    async handle({ ctx, params, query }) {
      const { items, next } = await listTables(ctx, levelsOf(params.namespace), query);
      return { identifiers: items, "next-page-token": next };
    },
  }),
  operation({
    ...shared,
    method: "GET",
    path: `${CATALOG}/{namespace}/tables/{table}`,
    summary: "Get an Iceberg table",
    description:
      "Returns the table's current metadata. Each load is a snapshot, whose summary has its ID as `weir.load-id`. The data files are at `s3://` addresses if the lake is in a bucket, which engines need credentials of their own for, and at `file://` addresses otherwise.",
    params: TableRef,
    query: LoadQuery,
    response: IcebergTable,
    example: {
      "metadata-location": "s3://lake/0197…/raw/shop/orders/metadata/00001-0197….metadata.json",
      metadata: { "format-version": 2 },
      config: {},
    },
    async handle({ ctx, params, query, visit }) {
      const namespace = levelsOf(params.namespace);
      if (visit.request.method === "HEAD") {
        await findTable(ctx, namespace, params.table);
        return new Reply(204, null);
      }
      return loadTable(ctx, namespace, params.table, query.snapshots !== "refs");
    },
  }),
  openOperation({
    method: "POST",
    path: "/iceberg/v1/oauth/tokens",
    audience: "public",
    limited: "address",
    oauth: true,
    ownPagesOnly: false,
    tag,
    summary: "Create an Iceberg catalog token",
    description:
      "For engines that only sign in with client credentials. The client secret is an access token or API key of Weir, and is returned as the access token. The client ID can be anything.",
    body: IcebergTokenRequest,
    response: IcebergToken,
    errors: [429],
    replies: {
      400: {
        description: "The request was refused.",
        body: object({ error: Type.String(), error_description: Type.String() }),
        example: { error: "invalid_client", error_description: "Invalid API key. It may have been revoked." },
      },
    },
    bodyExample: { grant_type: "client_credentials", client_id: "weir", client_secret: "svc_pat_…" },
    example: {
      access_token: "svc_pat_…",
      token_type: "bearer",
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    },
    async handle({ app, body }) {
      if (body.grant_type !== "client_credentials")
        throw new OAuthError("unsupported_grant_type", "Use the grant type client_credentials.");
      const token = body.client_secret ?? "";
      const headers = new Headers({
        authorization: `Bearer ${/^[\w-]+$/.test(token) ? token : "-"}`,
      });
      try {
        await identify(app, headers, true);
      } catch (error) {
        if (!(error instanceof AppError && error.code === "unauthenticated")) throw error;
        throw new OAuthError("invalid_client", error.message);
      }
      return {
        access_token: token,
        token_type: "bearer",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      };
    },
  }),
];

/** Some clients encode the separator twice. */
const levelsOf = (namespace: string) => namespace.replaceAll(/%1F/gi, SEPARATOR);
