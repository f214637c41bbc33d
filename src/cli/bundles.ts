import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import { jsonInput, numberInput, wideInput } from "./input.ts";
import { type Column, printJson, printTable, reportMore } from "./show.ts";
import { apiOf, commandOf, LISTING, verb } from "./verbs.ts";

type Bundle = Reply<"GET /api/v1/bundles">["bundles"][number];
type Component = Reply<"POST /api/v1/bundles/{slug}/install">["components"][number];

const COLUMNS: readonly Column<Bundle>[] = [
  { title: "SLUG", of: ({ slug }) => slug, isWhole: true },
  { title: "VERSION", of: ({ version }) => version },
  { title: "INPUTS", of: ({ inputJsonSchema }) => Object.keys(inputJsonSchema.properties ?? {}).join(", ") },
  { title: "NAME", of: ({ displayName }) => displayName, isName: true },
];

const COMPONENT_COLUMNS: readonly Column<Component>[] = [
  { title: "ID", of: ({ entityId }) => entityId, isWhole: true },
  { title: "TYPE", of: ({ entityType }) => entityType },
  { title: "KEY", of: ({ key }) => key, extra: 1 },
  { title: "NAME", of: ({ entityName }) => entityName, isName: true },
];

/** `weir bundles list|install` */
export const bundles = commandOf("bundles", {
  list: verb({
    options: LISTING,
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const [limit, offset] = [numberInput("--limit", flags.limit), numberInput("--offset", flags.offset)];
      const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/bundles", {
        query: { limit, offset },
      });
      if (flags.json) return printJson(host, text);
      printTable(host, body.bundles, COLUMNS, { isWide });
      const shown = body.bundles.length;
      reportMore(host, { ...body, hasNext: body.offset + shown < body.total }, shown);
    },
  }),
  install: verb({
    words: "BUNDLE",
    options: { inputs: { type: "string" }, version: { type: "string" } },
    async run({ flags, words, host }) {
      const inputs = await jsonInput(host, "--inputs", flags.inputs);
      const version = numberInput("--version", flags.version);
      const { body, text } = await apiOf({ flags, host }).call("POST /api/v1/bundles/{slug}/install", {
        path: { slug: words[0] ?? "" },
        query: { version },
        body: inputs === undefined ? {} : { inputs },
      });
      if (flags.json) return printJson(host, text);
      printTable(host, body.components, COMPONENT_COLUMNS);
      for (const { entityName, secret } of body.components) {
        if (secret === undefined) continue;
        host.out(plain(`Signing secret of ${entityName}, shown only now: ${secret}`));
      }
      host.out(plain(`Bundle ${body.bundleSlug} version ${body.bundleVersion} installed.`));
    },
  }),
});
