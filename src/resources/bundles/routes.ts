import { object, slug } from "../../base/shape.ts";
import { write } from "../../context.ts";
import { operation } from "../../http/operation.ts";
import { VersionQuery } from "../templates/wire.ts";
import { installBundle } from "./install.ts";
import { listBundles } from "./list.ts";
import { putSampleFiles } from "./sample-files.ts";
import { BundleInstall, BundlePage, BundleQuery, Install, toBundle, toInstall } from "./wire.ts";

const tag = "Bundles";

export const bundleOperations = [
  operation({
    method: "GET",
    path: "/api/v1/bundles",
    audience: "viewer",
    tag,
    summary: "List bundles",
    description: "Built-in bundles first, then the organization's published ones.",
    query: BundleQuery,
    response: BundlePage,
    async handle({ ctx, query }) {
      const { rows, total } = await listBundles(ctx, query);
      return { bundles: rows.map(toBundle), limit: query.limit, offset: query.offset, total };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/bundles/{slug}/install",
    audience: "member",
    tag,
    summary: "Install a bundle",
    description:
      "Creates all components or none. Installing the same version with the same inputs again creates nothing. A newer " +
      "version updates the components of the older one and keeps those it no longer has. Credentials in the inputs are " +
      "encrypted and never returned. A webhook's signing secret that was generated is returned only once.",
    params: object({ slug: slug() }),
    query: VersionQuery,
    body: BundleInstall,
    bodyOptional: true,
    bodyExample: { inputs: {} },
    response: Install,
    errors: [404, 409],
    async handle({ ctx, params, query, body }) {
      const wanted = { ...query, inputs: body.inputs ?? {} };
      const done = await write(ctx, (tx) => installBundle(tx, params.slug, wanted));
      await putSampleFiles(ctx, done);
      return toInstall(done);
    },
  }),
];
