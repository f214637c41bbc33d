import { AppError } from "../base/errors.ts";
import { plural } from "../base/plural.ts";
import { sizeText } from "../base/size.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import { download, findDataset, upload } from "./datasets-files.ts";
import { UsageError } from "./host.ts";
import { datasetRef, numberInput, wideInput } from "./input.ts";
import { type Column, printJson, printTable, reportMore, timeColumn } from "./show.ts";
import { apiOf, commandOf, LISTING, verb } from "./verbs.ts";

type Dataset = Reply<"GET /api/v1/datasets">["datasets"][number];
type Preview = Reply<"GET /api/v1/datasets/{layer}/{dataset}/preview">;

const rowsOf = ({ tables }: Dataset) => tables.reduce((sum, { rows }) => sum + rows, 0);
const bytesOf = ({ tables }: Dataset) => tables.reduce((sum, { bytes }) => sum + bytes, 0);

const COLUMNS: readonly Column<Dataset>[] = [
  { title: "DATASET", of: ({ layer, dataset }) => `${layer}.${dataset}`, isName: true },
  { title: "ROWS", of: rowsOf },
  { title: "SIZE", of: (one) => sizeText(bytesOf(one)) },
  timeColumn("UPDATED", ({ updatedAt }) => updatedAt),
  { title: "TABLES", of: ({ tables }) => tables.map(({ name }) => name).join(", ") },
];

/** `weir datasets list|preview|upload|download|delete` */
export const datasets = commandOf("datasets", {
  list: verb({
    options: {
      layer: { type: "string" },
      q: { type: "string" },
      ...LISTING,
    },
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const query = {
        layer: flags.layer,
        q: flags.q,
        limit: numberInput("--limit", flags.limit),
        offset: numberInput("--offset", flags.offset),
      };
      const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/datasets", { query });
      if (flags.json) return printJson(host, text);
      printTable(host, body.datasets, COLUMNS, { isWide });
      reportMore(host, body, body.datasets.length);
    },
  }),
  preview: verb({
    words: "DATASET",
    options: { table: { type: "string" }, limit: { type: "string" } },
    async run({ flags, words, host }) {
      const path = datasetRef(words[0] ?? "");
      const query = { table: flags.table, limit: numberInput("--limit", flags.limit) };
      const { body, text } = await apiOf({ flags, host }).call(
        "GET /api/v1/datasets/{layer}/{dataset}/preview",
        { path, query },
      );
      if (flags.json) return printJson(host, text);
      const columns = body.columns.map(({ name }) => ({
        title: name,
        of: (row: Preview["rows"][number]) => row[name],
      }));
      printTable(host, body.rows, columns);
    },
  }),
  upload,
  download,
  delete: verb({
    words: "DATASET",
    options: { yes: { type: "boolean" } },
    async run({ flags, words, host }) {
      const path = datasetRef(words[0] ?? "");
      if (!flags.yes && host.ask === null)
        throw new UsageError("Missing flag: --yes, which is required without a terminal.");
      const api = apiOf({ flags, host });
      const dataset = await findDataset(api, path);
      const name = `${path.layer}.${path.dataset}`;
      const what = `${name} (${plural(dataset.tables.length, { one: "table", other: "tables" })}, ${plural(rowsOf(dataset), { one: "row", other: "rows" })})`;
      const answer = flags.yes
        ? "yes"
        : await host.ask?.(`Delete ${what}? This can't be undone. [y/N] `, false);
      if (!/^y(es)?$/i.test(answer?.trim() ?? ""))
        throw new AppError("cancelled", "Cancelled. Nothing was changed.");
      const { text } = await api.call("DELETE /api/v1/datasets/{layer}/{dataset}", { path });
      if (flags.json) return text === "" ? undefined : printJson(host, text);
      host.out(plain(`Dataset ${name} deleted.`));
    },
  }),
});
