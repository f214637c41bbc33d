import type { JsonObject } from "../../../base/json.ts";
import {
  type BuiltIn,
  connectionId,
  cron,
  dataset,
  folder,
  inputIsSet,
  inputIsUnset,
  inputs,
  timezone,
} from "./contract.ts";

const SAMPLE =
  "region,month,target\nnorth,2026-04-01,12000\nsouth,2026-04-01,9500\nwest,2026-04-01,10250.5\n";

/** Loads all files at once, so that files changed or deleted in the folder are changed or deleted in the table. */
const load: JsonObject = {
  dataset: "{{inputs.dataset}}",
  resources: [{ name: "{{inputs.dataset}}", spec: "{{inputs.pattern}}", writeDisposition: "replace" }],
};

export const driveToDataset: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000008",
  slug: "drive-to-dataset",
  version: 1,
  templateType: "bundle",
  displayName: "Drive folder to dataset",
  description:
    "Loads the files and sheets of a Google Drive folder into a dataset and keeps it up to date. Uses a sample file until you select a connection.",
  inputJsonSchema: inputs({
    connectionId: connectionId(
      "Google Drive connection with the folder as its rootFolderId. Default: a sample folder.",
    ),
    folder: folder("drive", "Folder of the sample file, in the organization's files."),
    pattern: {
      type: "string",
      title: "Files",
      description: "Files to read, such as targets*.csv or **/*.csv. Google Sheets are read as CSV.",
      minLength: 1,
      maxLength: 500,
      default: "*.csv",
    },
    dataset: dataset("drive_files", "Dataset for the files' rows, in the layer raw."),
    cron: cron("*/30 * * * *"),
    timezone,
  }),
  files: [{ component: "samples", name: "targets.csv", text: SAMPLE }],
  definition: {
    components: [
      {
        key: "samples",
        type: "connection",
        name: "Sample folder",
        definition: { provider: "local_files", config: { root: "{{inputs.folder}}" }, credentials: {} },
      },
      {
        key: "load",
        type: "automation",
        name: "Load the Drive folder",
        definition: {
          triggerType: "schedule",
          description: "Reads all files of the folder into one table.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}" },
            steps: [
              {
                key: "samples",
                kind: "dlt_extract",
                connectionId: "{{components.samples.id}}",
                when: inputIsUnset("connectionId"),
                definition: load,
              },
              {
                key: "drive",
                kind: "dlt_extract",
                connectionId: "{{inputs.connectionId}}",
                when: inputIsSet("connectionId"),
                definition: load,
              },
            ],
          },
        },
      },
    ],
  },
};
