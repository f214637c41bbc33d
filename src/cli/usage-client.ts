import type { Usage } from "./usage.ts";

const SHARED = `  --server URL       server URL (default: $WEIR_SERVER, $WEIR_BASE_URL, the last server used, or
                     http://127.0.0.1:8484)
  --org ORG          organization to act in, by ID or slug (default: $WEIR_ORG, or the token's organization)
  --json             print the raw API response`;

const WIDE = "  -o wide            show every column of the list, uncut";
const PAGES = `  --limit N          maximum number of results; use --offset N to skip results
${WIDE}`;

/** Usage of the commands that send requests to a server. */
export const clientUsage = {
  status: {
    line: "weir status [--server URL] [--org ORG] [--json]",
    gist: "show server health and what needs attention",
    text: `Shows the version, health, current user, and what needs attention: runs that failed in the last 24 hours, pending
approvals, failing connections and dead letters. Exit code 1 if the server is unreachable or unhealthy.

${SHARED.replace("print the raw API response", "print all of this as one object")}`,
  },
  actions: {
    line: "weir actions list|get|create|edit|run [FLAGS]",
    gist: "list, show, create, edit and run actions",
    verbs: {
      list: "weir actions list [--q TEXT] [--kind KIND]... [--status STATUS]... [--limit N] [--offset N] [-o wide] [--json]",
      get: "weir actions get ACTION [--json]",
      create:
        "weir actions create --kind KIND --name NAME [--slug SLUG] [--connection CONNECTION] [--template TEMPLATE] [--definition JSON] [--json]",
      edit: "weir actions edit ACTION [--definition JSON] [--json]",
      run: "weir actions run ACTION [--overrides JSON] [--follow] [--wait] [--json]",
    },
    text: `ACTION, CONNECTION and TEMPLATE are IDs or slugs. JSON is literal JSON, @FILE, or - for standard input. On a terminal,
edit opens the definition in $VISUAL or $EDITOR; it changes nothing if someone else changed the action.

  --q TEXT           filter by name or slug
  --kind KIND        filter by kind, such as http_request; repeatable
  --status STATUS    filter by status; repeatable
${PAGES}
  --definition JSON  action definition (default with create: empty draft; with edit: opens the editor)
  --overrides JSON   JSON merge patch applied to the definition for this run only
  --wait             wait for the run to finish; exit code 1 if it fails or is cancelled
  --follow           like --wait, and stream the log
${SHARED}`,
  },
  runs: {
    line: "weir runs list|get|logs|cancel|retry [FLAGS]",
    gist: "list, show, follow, cancel and retry action runs",
    verbs: {
      list: "weir runs list [--action ACTION] [--kind KIND]... [--status STATUS]... [--automation-run ID] [--trigger METHOD] [--since TIME] [--until TIME] [--limit N] [--offset N] [-o wide] [--json]",
      get: "weir runs get RUN [--json]",
      logs: "weir runs logs RUN [--follow] [--json]",
      cancel: "weir runs cancel RUN [--json]",
      retry: "weir runs retry RUN [--follow] [--wait] [--json]",
    },
    text: `RUN is the ID of a run. ACTION is the ID or slug of an action. retry starts a new run with the same definition.

  --status STATUS    pending, running, waiting, completed, failed or cancelled; repeatable
  --kind KIND        filter by kind, such as http_request; repeatable
  --automation-run ID
                     runs of one automation run
  --trigger METHOD   filter by trigger, such as schedule or webhook
  --since TIME       created at or after this time, such as 2026-01-31T08:00:00Z
  --until TIME       created at or before this time
${PAGES}
  --follow           stream the log until the run finishes; survives server restarts
  --wait             wait for the run to finish; exit code 1 if it fails or is cancelled
${SHARED}`,
  },
  automations: {
    line: "weir automations list|run|enable|disable|runs [FLAGS]",
    gist: "list, run, enable, disable and inspect automations",
    verbs: {
      list: "weir automations list [--q TEXT] [--trigger TYPE] [--status STATUS] [--limit N] [--offset N] [-o wide] [--json]",
      run: "weir automations run AUTOMATION [--input JSON] [--wait|--follow] [--json]",
      enable: "weir automations enable AUTOMATION [--json]",
      disable: "weir automations disable AUTOMATION [--json]",
      "runs list":
        "weir automations runs list [--automation AUTOMATION] [--status STATUS]... [--trigger METHOD] [--since TIME] [--until TIME] [--limit N] [--offset N] [-o wide] [--json]",
      "runs get": "weir automations runs get RUN [--json]",
      "runs cancel": "weir automations runs cancel RUN [--json]",
      "runs retry": "weir automations runs retry RUN [--from-start] [--wait|--follow] [--json]",
    },
    text: `AUTOMATION is an ID or slug. RUN is the ID of an automation run. JSON is literal JSON, @FILE, or - for standard input.
runs retry starts a new run that continues from the failed steps. What depends on them runs again too.

  --q TEXT           filter by name or slug
  --trigger TYPE     manual, webhook, schedule or event; with runs list, a method such as schedule or retry
  --status STATUS    active or disabled; with runs list, the status of a run, such as failed; repeatable
  --automation AUTOMATION
                     runs of one automation
  --since TIME       created at or after this time, such as 2026-01-31T08:00:00Z
  --until TIME       created at or before this time
  --from-start       run every step again
${PAGES}
  --input JSON       input of the run, available to steps as {{input}}
  --wait             wait for the run to finish; exit code 1 if it fails or is cancelled
  --follow           like --wait, and stream the progress of its steps
${SHARED}`,
  },
  approvals: {
    line: "weir approvals list|approve|reject [FLAGS]",
    gist: "list, approve and reject approvals",
    verbs: {
      list: "weir approvals list [--status STATUS] [-o wide] [--json]",
      approve: "weir approvals approve APPROVAL [--form JSON] [--reason TEXT] [--json]",
      reject: "weir approvals reject APPROVAL [--reason TEXT] [--form JSON] [--json]",
    },
    text: `APPROVAL is the ID of an approval. JSON is literal JSON, @FILE, or - for standard input.

  --status STATUS    pending or decided (default: pending)
${WIDE}
  --reason TEXT      reason for the decision
  --form JSON        form response
${SHARED}`,
  },
  connections: {
    line: "weir connections list|create|verify|authorize [FLAGS]",
    gist: "list, create, verify and authorize connections",
    verbs: {
      list: "weir connections list [--q TEXT] [--provider PROVIDER]... [--status STATUS]... [--limit N] [--offset N] [-o wide] [--json]",
      create:
        "weir connections create --name NAME (--provider PROVIDER | --template SLUG [--template-version N]) [--slug SLUG] [--config JSON] [--credentials JSON] [--json]",
      verify: "weir connections verify CONNECTION [--json]",
      authorize: "weir connections authorize CONNECTION [--wait|--no-wait] [--json]",
    },
    text: `CONNECTION is an ID or slug. JSON is literal JSON, @FILE, or - for standard input. verify exits with code 1 if the
connection fails. authorize prints the URL where you sign in. On a terminal it waits until you have done so, and verifies the connection.

  --q TEXT           filter by name or slug
  --provider PROVIDER
                     provider, such as postgres; repeatable with list
  --status STATUS    filter by status; repeatable
${PAGES}
  --template SLUG    connection template, and --template-version N its version
  --config JSON      connection settings, such as host and database
  --credentials JSON
                     credentials, which should come from @FILE or standard input; prompts for them on a terminal
                     if omitted
  --wait             wait for the sign-in, also without a terminal
  --no-wait          print the URL and don't wait
${SHARED}`,
  },
  datasets: {
    line: "weir datasets list|preview|upload|download|delete [FLAGS]",
    gist: "list, preview, upload, download and delete datasets",
    verbs: {
      list: "weir datasets list [--layer LAYER] [--q TEXT] [--limit N] [--offset N] [-o wide] [--json]",
      preview: "weir datasets preview DATASET [--table TABLE] [--limit N] [--json]",
      upload:
        "weir datasets upload DATASET FILE|- [--table TABLE] [--format FORMAT] [--append] [--encoding ENCODING] [--delimiter CHARACTER] [--no-header] [--json]",
      download: "weir datasets download DATASET -o FILE|- [--table TABLE] [--format FORMAT] [--json]",
      delete: "weir datasets delete DATASET [--yes] [--json]",
    },
    text: `DATASET is LAYER.DATASET, such as raw.shop. upload replaces the table's rows, all at once or not at all; a missing
dataset, table or column is created. Files may be compressed with gzip or Zstandard. upload and download take at most
1 GiB.

  --layer LAYER      filter by layer, such as raw
  --q TEXT           filter by part of the name of a dataset or table
${PAGES}
  --table TABLE      table (default: the one with the dataset's name; preview and download also take the only one)
  --format FORMAT    for upload csv, tsv, json, jsonl or parquet; for download csv, jsonl, parquet or xlsx (default:
                     the filename's extension)
  --append           add the rows instead of replacing the table's
  --encoding ENCODING
                     utf-8, latin1 or utf-16 (default: utf-8)
  --delimiter CHARACTER
                     of CSV: a comma, semicolon, tab or | (default: found in the first line)
  --no-header        the first line of CSV is data
  -o, --output FILE  new file to write, or - for standard output
  --yes              delete without asking
${SHARED}`,
  },
  bundles: {
    line: "weir bundles list|install [FLAGS]",
    gist: "list and install bundles",
    verbs: {
      list: "weir bundles list [--limit N] [--offset N] [-o wide] [--json]",
      install: "weir bundles install BUNDLE [--inputs JSON] [--version N] [--json]",
    },
    text: `BUNDLE is a slug. JSON is literal JSON, @FILE, or - for standard input. Installing the same version with the same inputs
again creates nothing.

${PAGES}
  --inputs JSON      values for the bundle's inputs
  --version N        version to install (default: the latest published one)
${SHARED}`,
  },
  query: {
    line: "weir query SQL|- [--parameters JSON] [--limit N] [--csv|--jsonl] [--server URL] [--org ORG] [--json]",
    gist: "run SQL on the lake",
    text: `Tables are named layer.dataset__table. Use - to read the SQL from standard input. If rows are left out, standard error
reports it; in a pipe without --limit, the exit code is then 1.

  --parameters JSON  values for $name in the SQL: literal JSON, @FILE, or - for standard input
  --limit N          maximum number of rows (default: all with --csv and --jsonl, 1,000 on a terminal, else 10,000)
  --csv              CSV with a header row
  --jsonl            JSON Lines, one row per line
${SHARED}`,
  },
  events: {
    line: "weir events tail|verify [FLAGS]",
    gist: "follow and verify the audit log",
    verbs: {
      tail: "weir events tail [--type TYPE] [--correlation ID] [--limit N] [--server URL] [--org ORG] [--json]",
      verify: "weir events verify [--data DIR | --server URL [--org ORG]] [--against FILE] [--json]",
    },
    text: `tail prints the latest events and then new ones until Ctrl-C; it survives server restarts. verify recomputes the hash
chain of every organization in the data directory; the server can keep running. With --server, or without a data
directory on this machine, the server verifies your organization instead. Exit code 1 if verification fails: the latest
events are missing (truncated), events were changed or removed (rewritten), or an older copy of the database was
restored (rolled_back).

  --against FILE     seals that you store elsewhere, as GET /api/v1/events/seals returns them: JSON or JSON Lines
  --type TYPE        filter by type, such as action.failed, or action.* for all types with that prefix
  --correlation ID   events with this correlation ID
  --limit N          number of events to show first (default: 10, maximum: 200)
  --data DIR         data directory (default: $WEIR_DATA, or ./weir-data)
${SHARED.replace("print the raw API response", "print each event as JSON; for verify {valid, checked, firstBadId, reason, redacted}")}`,
  },
  organization: {
    line: "weir organization export -o FILE|- [--server URL] [--org ORG] [--json]",
    gist: "export an organization's data as an archive",
    verbs: {
      export: "weir organization export -o FILE|- [--server URL] [--org ORG] [--json]",
    },
    text: `Writes all data of the organization to a tar archive: resources as JSON Lines, the lake's Parquet files, artifacts and
files. Credentials and other users' chats are not included. The last file, manifest.json, lists all files with their
SHA-256. Requires the owner role. To export only the configuration, as YAML, use "weir export".

  -o, --output FILE  new file to write, or - for standard output
${SHARED.replace("print the raw API response", "{output, bytes}")}`,
  },
  webhooks: {
    line: "weir webhooks dead-letters|replay [FLAGS]",
    gist: "list and replay dead letters",
    verbs: {
      "dead-letters":
        "weir webhooks dead-letters [--source SOURCE] [--automation AUTOMATION] [--webhook ID] [--status STATUS] [--limit N] [--cursor CURSOR] [-o wide] [--json]",
      replay: "weir webhooks replay DEAD_LETTER... | --automation AUTOMATION | --webhook ID [--json]",
    },
    text: `DEAD_LETTER is the ID of a dead letter. AUTOMATION is an ID or slug.

  --source SOURCE    inbound or outbound
  --status STATUS    dead, replaying or replayed
  --automation AUTOMATION
                     dead letters of one automation; replay replays all of them
  --webhook ID       dead letters of one outgoing webhook; replay replays all of them
  --limit N          maximum number of results; use --cursor CURSOR for the next page
${WIDE}
${SHARED}`,
  },
  openapi: {
    line: "weir openapi [--json]",
    gist: "print the OpenAPI document",
    text: "Prints the document that this version serves at /openapi.json. Needs no server.",
  },
  schema: {
    line: "weir schema [NAME] [--json]",
    gist: "print a JSON Schema for editors",
    text: `Prints the JSON Schema of what people write in files, with which editors complete and check it; without NAME it
lists them: automation, action, connection, template, bundle, agent-spec and config, which is a file of weir apply.
Needs no server.

For files of weir apply: weir schema config > weir.schema.json, and at the head of each file
# yaml-language-server: $schema=weir.schema.json, as weir export writes it.`,
  },
  api: {
    line: "weir api METHOD PATH [--data JSON] [--server URL] [--org ORG] [--json]",
    gist: "send a request to the API",
    text: `Prints the response body unchanged. If the response status isn't 2xx, the exit code is 1 and the error is on
standard error; the body is then printed with --json only.

  --data JSON        request body: literal JSON, @FILE, or - for standard input
${SHARED}`,
  },
  completion: {
    line: "weir completion bash|zsh|fish",
    gist: "print a shell completion script",
    text: `For bash: source <(weir completion bash)
For zsh:  source <(weir completion zsh)
For fish: weir completion fish | source`,
  },
} as const satisfies Readonly<Record<string, Usage>>;
