import { type BuiltIn, connectionId, cron, folder, inputs, timezone } from "./contract.ts";

const path = (title: string, fallback: string, description: string) => ({
  type: "string",
  title,
  description,
  pattern: "^/",
  maxLength: 1000,
  default: fallback,
});

export const bucketToBucket: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000009",
  slug: "bucket-to-bucket",
  version: 1,
  templateType: "bundle",
  displayName: "Bucket to bucket",
  description:
    "Copies new and changed files from one S3 bucket to another. Uses two sample folders until you select connections.",
  inputJsonSchema: inputs({
    sourceConnectionId: connectionId("Connection to copy files from. Default: a sample folder."),
    sourcePath: path("From", "/incoming", "Folder to copy, at the source."),
    destinationConnectionId: connectionId(
      "Connection to copy files to. Default: a folder of the organization.",
    ),
    destinationPath: path("To", "/copies", "Folder to copy into, at the destination."),
    mode: {
      type: "string",
      title: "Mode",
      description: "mirror also deletes what the source no longer has.",
      enum: ["copy", "mirror"],
      default: "copy",
    },
    folder: folder("buckets", "Folder of the sample folders, in the organization's files."),
    cron: cron("15 * * * *"),
    timezone,
  }),
  files: [
    { component: "samples", name: "incoming/2026/04/orders.csv", text: "id,amount\n1,10.5\n2,20\n" },
    { component: "samples", name: "incoming/readme.txt", text: "Files that the bundle copies.\n" },
  ],
  definition: {
    components: [
      {
        key: "samples",
        type: "connection",
        name: "Sample buckets",
        definition: { provider: "local_files", config: { root: "{{inputs.folder}}" }, credentials: {} },
      },
      {
        key: "sync",
        type: "automation",
        name: "Copy the bucket",
        definition: {
          triggerType: "schedule",
          description: "Copies new and changed files.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}" },
            action: {
              kind: "file_sync",
              connectionId: "{{components.samples.id}}",
              definition: {
                source: { connectionId: "{{inputs.sourceConnectionId}}", path: "{{inputs.sourcePath}}" },
                destination: {
                  connectionId: "{{inputs.destinationConnectionId}}",
                  path: "{{inputs.destinationPath}}",
                },
                mode: "{{inputs.mode}}",
              },
            },
          },
        },
      },
    ],
  },
};
