import type { HttpTemplate } from "../../src/providers/http-template/definition.ts";
import { services } from "../../src/resources/template-library/built-in/connections/all.ts";
import { type Schema, table } from "./fields.ts";

type Service = (typeof services)[number];
type Http = HttpTemplate["http"];
type Resource = NonNullable<Http["resources"]>[number];

/** Returns a page for each service with a built-in connection template. */
export const servicePages = () =>
  services.map((service) => ({
    path: `connections/${service.slug}.md`,
    title: service.displayName,
    parts: { about: about(service) },
  }));

export const serviceLinks = () =>
  table(
    ["service", "what it reaches"],
    [...services]
      .sort((a, b) => a.displayName.localeCompare(b.displayName))
      .map(({ slug, displayName, description }) => [`[${displayName}](connections/${slug}.md)`, description]),
  );

function about(service: Service): string {
  const { http, configSchema, credentialsSchema } = service.definition as unknown as HttpTemplate;
  const credentials = fieldsOf(credentialsSchema);
  const request = {
    name: service.displayName,
    templateSlug: service.slug,
    config: givenOf(configSchema),
    credentials: givenOf(credentialsSchema),
  };
  return [
    service.description,
    `> Written from [the service's documentation](${service.docs}); never tried against the real service.`,
    `The connection template \`${service.slug}\`, which ships with Weir; the page offers it under New connection. ${SIGN_IN[http.auth.type]}${pace(http)}`,
    `\`\`\`json\n${JSON.stringify(request, null, 2)}\n\`\`\``,
    `## Config\n\n${fieldsOf(configSchema)}`,
    ...(credentials === "" ? [] : [`## Credentials\n\n${credentials}`]),
    `## Lists\n\nAn extract names one in \`spec\`; all else comes from the template.\n\n${listsOf(http.resources ?? [])}`,
  ].join("\n\n");
}

const SIGN_IN: Readonly<Record<Http["auth"]["type"], string>> = {
  none: "It needs no credentials.",
  bearer: "Its token is sent as `Authorization: Bearer`.",
  basic: "It signs in by name and password, as HTTP has it.",
  header: "Its credential is sent in a header.",
  query: "Its credential is sent in a parameter.",
  path: "Its token is sent as a segment of each path, and masked wherever it comes back.",
  oauth2_client_credentials: "Tokens are fetched by client credentials, and renewed when they expire.",
  oauth2_authorization_code:
    "Someone [signs in](../sign-in-for-connections.md) once; tokens are renewed automatically.",
};

const pace = ({ requestsPerMinute }: Http): string =>
  requestsPerMinute === undefined ? "" : ` At most ${requestsPerMinute} requests a minute are sent.`;

type Field = { title?: string; description?: string; default?: string };

const propertiesOf = (schema: HttpTemplate["configSchema"]) =>
  Object.entries((schema?.properties ?? {}) as Record<string, Field>);
const requiredOf = (schema: HttpTemplate["configSchema"]) => (schema?.required ?? []) as string[];

const givenOf = (schema: Schema | undefined): Record<string, string> =>
  Object.fromEntries(requiredOf(schema as never).map((name) => [name, "…"]));

function fieldsOf(schema: HttpTemplate["configSchema"]): string {
  const required = requiredOf(schema);
  const rows = propertiesOf(schema).map(([name, { title = "", description, default: fallback }]) => [
    `\`${name}\`${required.includes(name) ? " \\*" : ""}`,
    [description ? `${title}. ${description}` : title, fallback ? `\`${fallback}\` by default.` : ""]
      .filter(Boolean)
      .join(" "),
  ]);
  return rows.length === 0 ? "" : table(["field", "meaning"], rows);
}

const listsOf = (resources: readonly Resource[]): string =>
  table(
    ["name", "what", "asked at", "key", "what is new"],
    resources.map(({ name, title = "", spec, primaryKey = [], incremental, endpoint }) => [
      `\`${name}\``,
      title,
      `\`${endpoint?.method ?? "GET"} ${spec}\``,
      primaryKey.map((column) => `\`${column}\``).join(", "),
      incremental && endpoint?.incremental
        ? `\`${endpoint.incremental.startParam}\` by \`${incremental.cursorField}\``
        : "",
    ]),
  );
