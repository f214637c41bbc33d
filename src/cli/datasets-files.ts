import { AppError } from "../base/errors.ts";
import { plural } from "../base/plural.ts";
import { sizeText } from "../base/size.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import { type Host, UsageError } from "./host.ts";
import { datasetRef } from "./input.ts";
import { refuseExisting, saveFile } from "./output-file.ts";
import { counted, openProgress, type Progress } from "./progress.ts";
import { printJson } from "./show.ts";
import { type Api, apiOf, listed, queryText, verb } from "./verbs.ts";

type Dataset = Reply<"GET /api/v1/datasets">["datasets"][number];
type Uploaded = Reply<"PUT /api/v1/datasets/{layer}/{dataset}/upload">;

/** Formats by filename extension. */
const UPLOADED = {
  csv: "csv",
  tsv: "tsv",
  json: "json",
  jsonl: "jsonl",
  ndjson: "jsonl",
  parquet: "parquet",
};
const DOWNLOADED = { csv: "csv", jsonl: "jsonl", ndjson: "jsonl", parquet: "parquet", xlsx: "xlsx" };

/** `weir datasets upload DATASET FILE` */
export const upload = verb({
  words: "DATASET FILE",
  options: {
    table: { type: "string" },
    format: { type: "string" },
    append: { type: "boolean" },
    encoding: { type: "string" },
    delimiter: { type: "string" },
    "no-header": { type: "boolean" },
  },
  async run({ flags, words, host }) {
    const { layer, dataset } = datasetRef(words[0] ?? "");
    const name = words[1] ?? "";
    const query = {
      table: flags.table,
      format: flags.format ?? formatOf(name.replace(/\.(gz|zst)$/i, ""), UPLOADED),
      writeDisposition: flags.append ? "append" : undefined,
      encoding: flags.encoding,
      delimiter: flags.delimiter,
      header: flags["no-header"] ? false : undefined,
    };
    const progress = openProgress(host);
    const body = await bodyOf(host, name, progress);
    const reply = await apiOf({ flags, host })
      .open("PUT", `/api/v1/datasets/${layer}/${dataset}/upload${queryText(query)}`, {
        headers: { "content-type": "application/octet-stream" },
        body,
      })
      .finally(progress.end);
    const text = await new Response(reply.body).text();
    if (flags.json) return printJson(host, text);
    const { table, rows } = JSON.parse(text) as Uploaded;
    const count = plural(rows, { one: "row", other: "rows" });
    host.out(plain(`Table ${table} of ${layer}.${dataset}: ${count} uploaded.`));
  },
});

/** Streams a file or standard input. */
async function bodyOf(host: Host, name: string, progress: Progress): Promise<ReadableStream<Uint8Array>> {
  if (name === "-") {
    progress.begin("Uploading", null);
    return streamOf(counted(host.input(), progress));
  }
  const file = Bun.file(name);
  const { size } = await file.stat().catch((cause: unknown) => {
    throw new AppError("not_found", `File ${name} not found.`, { cause });
  });
  progress.begin("Uploading", size);
  return streamOf(counted(file.stream(), progress));
}

const streamOf = (bytes: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await bytes.return(undefined)),
  });

/** `weir datasets download DATASET` */
export const download = verb({
  words: "DATASET",
  options: { output: { type: "string", short: "o" }, table: { type: "string" }, format: { type: "string" } },
  async run({ flags, words, host }) {
    const { output } = flags;
    const ref = datasetRef(words[0] ?? "");
    if (output === undefined)
      throw new UsageError("Missing flag: --output, the new file, or - for standard output.");
    const format = flags.format ?? formatOf(output, DOWNLOADED);
    if (output !== "-") refuseExisting(output);
    const api = apiOf({ flags, host });
    const sql = `SELECT * FROM "${ref.layer}"."${ref.dataset}__${await tableOf(api, ref, flags.table)}"`;
    const progress = openProgress(host);
    progress.begin("Downloading", null);
    try {
      const { body } = await api.open("POST", `/api/v1/query?format=${encodeURIComponent(format)}`, {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ sql }),
      });
      if (output === "-") {
        for await (const bytes of body) {
          host.write(bytes);
          if (!host.isRead()) return;
        }
        return;
      }
      const bytes = await saveFile(counted(body, progress), output);
      progress.end();
      host.out(flags.json ? JSON.stringify({ output, bytes }) : `${output}: ${sizeText(bytes)}.`);
    } finally {
      progress.end();
    }
  },
});

/** The table that was given, else the one with the dataset's name, else the only one. */
async function tableOf(
  api: Api,
  { layer, dataset }: { layer: string; dataset: string },
  named: string | undefined,
): Promise<string> {
  const names = (await findDataset(api, { layer, dataset })).tables.map(({ name }) => name);
  const table = named ?? (names.includes(dataset) || names.length > 1 ? dataset : names[0]);
  if (table !== undefined && names.includes(table)) return table;
  throw new UsageError(plain(`Set --table to ${listed(names)}.`));
}

const PAGE = 100;

/** Datasets have no URL of their own, so the list is searched. */
export async function findDataset(
  api: Api,
  { layer, dataset }: { layer: string; dataset: string },
): Promise<Dataset> {
  for (let offset = 0; ; offset += PAGE) {
    const { body } = await api.call("GET /api/v1/datasets", {
      query: { layer, q: dataset, limit: PAGE, offset },
    });
    const found = body.datasets.find((one) => one.dataset === dataset);
    if (found) return found;
    if (!body.hasNext) throw new AppError("not_found", plain(`Dataset ${layer}.${dataset} not found.`));
  }
}

function formatOf(name: string, formats: Readonly<Record<string, string>>): string {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const format = Object.hasOwn(formats, ending) ? formats[ending] : undefined;
  if (format !== undefined) return format;
  throw new UsageError(`Missing flag: --format ${listed([...new Set(Object.values(formats))])}.`);
}
