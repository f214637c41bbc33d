import type { Usage } from "./usage.ts";

const SHARED = `  --server URL       WEIR_SERVER or WEIR_BASE_URL by default, then the last one, then http://127.0.0.1:8484
  --org ORG          id or slug of the organization to act in; the token's own by default
  --json             the API's JSON, as it is`;

const PAGES = `  --limit N          how many at most; --offset N: after how many`;

/** The commands that ask a server for something. */
export const clientUsage = {
  status: {
    line: "weir status [--server URL] [--org ORG] [--json]",
    gist: "tell whether the server works, and what needs attention",
    text: `Shows version, health, who is signed in, and what needs attention: runs that failed in the last day, approvals
that wait, connections that do not work, dead letters. Exit code 1 when the server can't be reached or can't work as it
should.

${SHARED.replace("the API's JSON, as it is", "one object of all this")}`,
  },
  actions: {
    line: "weir actions list|get|create|run [FLAGS]",
    gist: "list, show, create and run actions",
    verbs: {
      list: "weir actions list [--q TEXT] [--kind KIND]... [--status STATUS]... [--limit N] [--offset N] [--json]",
      get: "weir actions get ACTION [--json]",
      create:
        "weir actions create --kind KIND --name NAME [--slug SLUG] [--connection CONNECTION] [--template TEMPLATE] [--definition JSON] [--json]",
      run: "weir actions run ACTION [--overrides JSON] [--follow] [--wait] [--json]",
    },
    text: `ACTION, CONNECTION and TEMPLATE are ids or slugs. JSON is the text itself, @FILE, or - for standard input.

  --q TEXT           those with this in their name or slug
  --kind KIND        such as http_request; more than once for several. So is --status
${PAGES}
  --definition JSON  what the action does; a draft without it
  --overrides JSON   a merge patch over the definition, for this run alone
  --wait             wait for the run to end; exit code 1 when it fails or is cancelled
  --follow           the same, and print its log as it comes
${SHARED}`,
  },
  runs: {
    line: "weir runs list|get|logs|cancel [FLAGS]",
    gist: "look into runs of actions, and cancel them",
    verbs: {
      list: "weir runs list [--action ACTION] [--kind KIND]... [--status STATUS]... [--automation-run ID] [--trigger METHOD] [--since INSTANT] [--until INSTANT] [--limit N] [--offset N] [--json]",
      get: "weir runs get RUN [--json]",
      logs: "weir runs logs RUN [--follow] [--json]",
      cancel: "weir runs cancel RUN [--json]",
    },
    text: `RUN is the id of a run, ACTION the id or slug of an action.

  --status STATUS    pending, running, waiting, completed, failed or cancelled; more than once for several
  --kind KIND        such as http_request; more than once for several
  --automation-run ID
                     those of one run of an automation
  --trigger METHOD   such as schedule or webhook
  --since INSTANT    created at this instant or later, such as 2026-01-31T08:00:00Z; --until: or earlier
${PAGES}
  --follow           go on with the log until the run ends, also over a restart of the server
${SHARED}`,
  },
  automations: {
    line: "weir automations list|run|enable|disable [FLAGS]",
    gist: "list, run, enable and disable automations",
    verbs: {
      list: "weir automations list [--q TEXT] [--trigger TYPE] [--status STATUS] [--limit N] [--offset N] [--json]",
      run: "weir automations run AUTOMATION [--input JSON] [--wait|--follow] [--json]",
      enable: "weir automations enable AUTOMATION [--json]",
      disable: "weir automations disable AUTOMATION [--json]",
    },
    text: `AUTOMATION is an id or a slug. JSON is the text itself, @FILE, or - for standard input.

  --q TEXT           those with this in their name or slug
  --trigger TYPE     manual, webhook, schedule or event
  --status STATUS    active or disabled
${PAGES}
  --input JSON       what the steps see as {{input}}
  --wait             wait for the run to end; exit code 1 when it fails or is cancelled
  --follow           the same, as for a run of an action
${SHARED}`,
  },
  approvals: {
    line: "weir approvals list|approve|reject [FLAGS]",
    gist: "list what waits for a decision, and decide",
    verbs: {
      list: "weir approvals list [--status STATUS] [--json]",
      approve: "weir approvals approve APPROVAL [--form JSON] [--reason TEXT] [--json]",
      reject: "weir approvals reject APPROVAL [--reason TEXT] [--form JSON] [--json]",
    },
    text: `APPROVAL is the id of an approval. JSON is the text itself, @FILE, or - for standard input.

  --status STATUS    pending, which is the default, or decided
  --reason TEXT      why; kept with a rejection
  --form JSON        what the form asks for, filled in
${SHARED}`,
  },
  connections: {
    line: "weir connections list|create|verify|authorize [FLAGS]",
    gist: "list, create, try and sign in for connections",
    verbs: {
      list: "weir connections list [--q TEXT] [--provider PROVIDER]... [--status STATUS]... [--limit N] [--offset N] [--json]",
      create:
        "weir connections create --name NAME (--provider PROVIDER | --template SLUG [--template-version N]) [--slug SLUG] [--config JSON] [--credentials JSON] [--json]",
      verify: "weir connections verify CONNECTION [--json]",
      authorize: "weir connections authorize CONNECTION [--json]",
    },
    text: `CONNECTION is an id or a slug. JSON is the text itself, @FILE, or - for standard input. verify ends with exit
code 1 where the other side can't be reached. authorize prints the address where a person signs in.

  --q TEXT           those with this in their name or slug
  --provider PROVIDER
                     such as postgres; in a list more than once for several. So is --status
${PAGES}
  --config JSON      where the other side is
  --credentials JSON
                     what it lets one in with; asked for on a terminal where it is absent
${SHARED}`,
  },
  query: {
    line: "weir query SQL|- [--parameters JSON] [--limit N] [--csv|--jsonl] [--server URL] [--org ORG] [--json]",
    gist: "run SQL over the lake",
    text: `Tables are named layer.dataset__table. The SQL - is read from standard input. If there are more rows than are shown,
standard error says so; in a pipe, without --limit, the exit code is then 1.

  --parameters JSON  values for $name in the SQL; the text itself, @FILE, or - for standard input
  --limit N          maximum number of rows (default: all with --csv and --jsonl, 1,000 on a terminal, else 10,000)
  --csv              CSV, with the names of the columns first
  --jsonl            JSON Lines, one row per line
${SHARED}`,
  },
  events: {
    line: "weir events tail|verify [FLAGS]",
    gist: "follow the audit trail, and check it",
    verbs: {
      tail: "weir events tail [--type TYPE] [--correlation ID] [--limit N] [--server URL] [--org ORG] [--json]",
      verify: "weir events verify [--data DIR | --server URL [--org ORG]] [--against FILE] [--json]",
    },
    text: `tail prints the last events and then those that come, until Ctrl-C, also over a restart of the server. verify
recomputes the chain of hashes of every organization of the data directory, also while a server runs on it. With
--server, or where this machine has no data directory and you are signed in, the server does. Exit code 1 when it does
not hold: the newest events are missing (truncated), events were changed or removed (rewritten), or an older copy of
the database was put back (rolled_back).

  --against FILE     seals that you keep elsewhere, as GET /api/v1/events/seals returns them: JSON or JSON lines
  --type TYPE        such as action.failed, or action.* for all of a kind
  --correlation ID   those of one chain
  --limit N          how many to show first; 10 by default, at most 200
  --data DIR         where all state lies; ./weir-data by default, or WEIR_DATA
${SHARED.replace("the API's JSON, as it is", "each event as JSON; of verify {valid, checked, firstBadId, reason, redacted}")}`,
  },
  organization: {
    line: "weir organization export -o FILE|- [--server URL] [--org ORG] [--json]",
    gist: "export all of an organization as an archive",
    verbs: {
      export: "weir organization export -o FILE|- [--server URL] [--org ORG] [--json]",
    },
    text: `Writes a tar archive of all that the organization has: JSON Lines by noun, the lake's Parquet files, artifacts and
files, without credentials and without others' chats. Its last file, manifest.json, lists all files with their SHA-256.
Only an owner exports; for the configuration alone, as YAML, see weir export.

  -o, --output FILE  the new file; - for standard output
${SHARED.replace("the API's JSON, as it is", "{output, bytes}")}`,
  },
  webhooks: {
    line: "weir webhooks dead-letters|replay [FLAGS]",
    gist: "list deliveries that failed for good, and make them once more",
    verbs: {
      "dead-letters":
        "weir webhooks dead-letters [--source SOURCE] [--automation AUTOMATION] [--webhook ID] [--limit N] [--cursor CURSOR] [--json]",
      replay: "weir webhooks replay DEAD_LETTER... | --automation AUTOMATION | --webhook ID [--json]",
    },
    text: `DEAD_LETTER is the id of a dead letter, AUTOMATION an id or a slug.

  --source SOURCE    inbound or outbound
  --automation AUTOMATION
                     those of one automation; replay makes all of them once more
  --webhook ID       those of one subscription; replay makes all of them once more
  --limit N          how many at most; --cursor CURSOR: after which
${SHARED}`,
  },
  openapi: {
    line: "weir openapi [--json]",
    gist: "print the OpenAPI document",
    text: "Prints what a server of this version serves at /openapi.json. Needs no server.",
  },
  api: {
    line: "weir api METHOD PATH [--data JSON] [--server URL] [--org ORG] [--json]",
    gist: "make any request of the API",
    text: `Prints the body of the answer as it is; exit code 1 where the answer is no success.

  --data JSON        the body: the text itself, @FILE, or - for standard input
${SHARED}`,
  },
  completion: {
    line: "weir completion bash|zsh|fish",
    gist: "print a script that completes words",
    text: `For bash: source <(weir completion bash)
For zsh:  source <(weir completion zsh)
For fish: weir completion fish | source`,
  },
} as const satisfies Readonly<Record<string, Usage>>;
