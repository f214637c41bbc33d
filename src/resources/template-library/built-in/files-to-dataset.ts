import { type BuiltIn, cron, dataset, folder, inputs, timezone } from "./contract.ts";

const EXAMPLE = "id,name,amount\n1,first,10.5\n2,second,20\n3,third,30.25\n";

export const filesToDataset: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000004",
  slug: "files-to-dataset",
  version: 1,
  templateType: "bundle",
  displayName: "File drop to dataset",
  description: "Loads files that people upload to a folder into a dataset and keeps it up to date.",
  inputJsonSchema: inputs({
    folder: folder("inbox", "Folder to watch, in the organization's files."),
    pattern: {
      type: "string",
      title: "Files",
      description: "CSV, JSON, JSON Lines or Parquet files to read, such as orders*.csv.",
      minLength: 1,
      maxLength: 500,
      default: "*.csv",
    },
    dataset: dataset("inbox", "Dataset for the files' rows, in the layer raw."),
    cron: cron("*/15 * * * *"),
    timezone,
  }),
  files: [{ component: "files", name: "example.csv", text: EXAMPLE }],
  definition: {
    components: [
      {
        key: "files",
        type: "connection",
        name: "File drop",
        definition: { provider: "local_files", config: { root: "{{inputs.folder}}" }, credentials: {} },
      },
      {
        key: "load",
        type: "automation",
        name: "Load dropped files",
        definition: {
          triggerType: "schedule",
          description: "Reads all files of the folder into one table.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}" },
            action: {
              kind: "dlt_extract",
              connectionId: "{{components.files.id}}",
              definition: {
                dataset: "{{inputs.dataset}}",
                resources: [
                  { name: "{{inputs.dataset}}", spec: "{{inputs.pattern}}", writeDisposition: "replace" },
                ],
              },
            },
          },
        },
      },
    ],
  },
};
