import { isObject, type JsonObject } from "../base/json.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import { authorize, verify } from "./connections-sign-in.ts";
import { type Host, UsageError } from "./host.ts";
import { connectionId, jsonInput, needed, numberInput, wideInput } from "./input.ts";
import { type Column, printJson, printTable, reportMore, timeColumn } from "./show.ts";
import { type Api, apiOf, commandOf, LISTING, verb } from "./verbs.ts";

type Connection = Reply<"GET /api/v1/connections/{connection_id}">;

const COLUMNS: readonly Column<Connection>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true, extra: 1 },
  { title: "SLUG", of: ({ slug }) => slug, isName: true },
  { title: "PROVIDER", of: ({ provider }) => provider },
  { title: "STATUS", of: ({ status }) => status },
  timeColumn("VERIFIED", ({ lastVerifiedAt }) => lastVerifiedAt, 2),
  { title: "NAME", of: ({ name }) => name, isName: true },
];

const IN_THE_OPEN =
  "Warning: credentials in a command are visible to other programs and stay in the shell's history. Use --credentials @FILE or --credentials - instead.";

/** `weir connections list|create|verify|authorize` */
export const connections = commandOf("connections", {
  list: verb({
    options: {
      q: { type: "string" },
      provider: { type: "string", multiple: true },
      status: { type: "string", multiple: true },
      ...LISTING,
    },
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const query = {
        q: flags.q,
        provider: flags.provider,
        status: flags.status,
        limit: numberInput("--limit", flags.limit),
        offset: numberInput("--offset", flags.offset),
      };
      const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/connections", { query });
      if (flags.json) return printJson(host, text);
      printTable(host, body.connections, COLUMNS, { isWide });
      reportMore(host, body, body.connections.length);
    },
  }),
  create: verb({
    options: {
      name: { type: "string" },
      provider: { type: "string" },
      template: { type: "string" },
      "template-version": { type: "string" },
      slug: { type: "string" },
      config: { type: "string" },
      credentials: { type: "string" },
    },
    async run({ flags, host }) {
      const name = needed("--name", flags.name, "name of the connection");
      const { provider, template } = flags;
      if ((provider === undefined) === (template === undefined))
        throw new UsageError("Set either --provider or --template.");
      if (flags.config === "-" && flags.credentials === "-")
        throw new UsageError("Only one of --config and --credentials can be read from standard input.");
      const templateVersion = numberInput("--template-version", flags["template-version"]);
      const config = await jsonInput(host, "--config", flags.config);
      const credentialInput = await jsonInput(host, "--credentials", flags.credentials);
      if (flags.credentials !== undefined && !/^(-$|@)/.test(flags.credentials)) host.err(IN_THE_OPEN);
      const api = apiOf({ flags, host });
      const credentials =
        credentialInput ?? (provider && host.ask ? await askCredentials(api, host.ask, provider) : {});
      const { body, text } = await api.call("POST /api/v1/connections", {
        body: {
          name,
          provider,
          templateSlug: template,
          templateVersion,
          slug: flags.slug,
          config,
          credentials,
        },
      });
      if (flags.json) return printJson(host, text);
      printTable(host, [body], COLUMNS);
    },
  }),
  verify: verb({
    words: "CONNECTION",
    async run({ flags, words, host }) {
      const api = apiOf({ flags, host });
      await verify({ api, host }, await connectionId(api, words[0] ?? ""), flags.json === true);
    },
  }),
  authorize,
});

/** PEM keys, which nobody types, and their passphrases: use --credentials. */
const isOfSeveralLines = (name: string, about: unknown): boolean =>
  /passphrase$/i.test(name) || (isObject(about) && about.contentMediaType !== undefined);

/** Asks for credentials on the terminal, so that they aren't in the shell history. */
async function askCredentials(
  api: Api,
  ask: NonNullable<Host["ask"]>,
  provider: string,
): Promise<JsonObject> {
  const { body } = await api.call("GET /api/v1/connection-providers", {});
  const { properties, required } = body.providers.find(({ id }) => id === provider)?.credentialsSchema ?? {};
  const answers: JsonObject = {};
  for (const [name, about] of Object.entries(isObject(properties) ? properties : {})) {
    const isNeeded = Array.isArray(required) && required.includes(name);
    if (!isNeeded && isOfSeveralLines(name, about)) continue;
    const isSecret = isObject(about) && about.format === "password";
    const answer = await ask(`${plain(name)}${isNeeded ? "" : " (may be empty)"}: `, isSecret);
    if (answer !== "" || isNeeded) answers[name] = answer;
  }
  return answers;
}
