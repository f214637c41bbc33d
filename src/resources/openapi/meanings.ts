/** Fields and parameters that mean the same everywhere. */
const MEANINGS: Readonly<Record<string, string>> = {
  limit: "Maximum number of items per page.",
  offset: "Number of items to skip.",
  cursor: "`nextCursor` of the previous page. Valid for 24 hours and for the same filters.",
  q: "Case-insensitive search text.",
  order: "Sort order: asc or desc.",
  sort_by: "Field to sort by.",
  since: "Only runs created at this time or later.",
  until: "Only runs created before this time.",
  trigger_method: "Only runs that were started this way.",
  actor_type: "Only events of this type of actor.",
  layer: "Layer of the lake.",
  dataset: "Name of the dataset.",
  schema: "Schema of the database.",
  table: "Name of the table.",
  org_id: "ID or slug of the organization.",
  path: "Last part of the URL.",
  name: "Name that people read.",
  displayName: "Name that people read.",
  title: "Title that people read.",
  firstName: "First name.",
  lastName: "Last name.",
  organizationName: "Name of the organization to create.",
  slug: "Name in URLs, files and commands. Default: derived from the name.",
  description: "Purpose, for people.",
  email: "Email address.",
  password: "Password.",
  currentPassword: "Current password.",
  code: "Code of the authenticator app.",
  user_code: "Code that the client shows.",
  userCode: "Code that the client shows.",
  token: "Token from the link.",
  connectionId: "ID of the connection to use. Null: none.",
  templateId: "ID of the template to create the resource from.",
  templateSlug: "Slug of the template to create the resource from.",
  templateVersion: "Version of the template. Default: the latest published one.",
  triggerType: "What starts the automation.",
  orchestratorType: "Accepted for compatibility. Always local.",
  agentSpecId: "ID of the agent.",
  actionRunId: "ID of the action run.",
  threadIds: "IDs of the threads.",
  expiresInDays: "Days until it expires.",
  roleSlug: "Role in the organization.",
  plan: "Plan of the organization.",
  quotas: "Quotas to change. Null removes all.",
  webhookRate: "Rate limit of incoming webhooks. Null: the default.",
  input: "Input of the run, as JSON that matches the inputSchema or suits the trigger.",
  chart: "How to show the rows. Null: as a table.",
  schedule: "When to send the dashboard.",
  method: "HTTP method.",
  headers: "Headers of the request.",
  queryTemplate: "Query parameters. Can contain {{input.x}}.",
  transport: "How the server is reached: streamable HTTP, or the older SSE.",
  mcpTransport: "How the server is reached: streamable HTTP, or the older SSE.",
  sourceType: "Whether the URL is of an HTTP API or of an MCP server.",
  contentType: "Format of the content. auto: detected.",
  authorizeUrl: "URL where the user signs in.",
  tokenUrl: "URL of the token endpoint.",
  scopes: "Scopes to request.",
  follow: "Whether to wait for new lines.",
  include_revoked: "Whether to include revoked sessions.",
  iconUrl: "URL of an icon.",
  client_id: "ID of the client.",
};

const NOUNS: Readonly<Record<string, string>> = { api: "API", spec: "agent", key: "API key" };

/** Describes a field or parameter by its name. Undefined if it has to have its own description. */
export function meaningOf(name: string): string | undefined {
  const known = MEANINGS[name];
  if (known !== undefined) return known;
  const [, noun] = /^(.+?)(?:_id|Id)$/.exec(name) ?? [];
  if (noun === undefined) return;
  const words = noun.replace(/_/g, " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return `ID of the ${NOUNS[words] ?? words}.`;
}
