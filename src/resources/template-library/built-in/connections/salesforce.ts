import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, query: string): Resource => ({
  name,
  title,
  spec: "/query",
  primaryKey: ["Id"],
  endpoint: {
    params: { q: query },
    dataPath: "records",
    totalPath: "totalSize",
    paginator: { type: "json_link", nextPath: "nextRecordsUrl" },
  },
});

export const salesforce: Service = {
  number: 46,
  slug: "salesforce",
  name: "Salesforce",
  description:
    "Accounts, contacts, leads, opportunities and cases of Salesforce, or the results of a SOQL query, by signing in with Salesforce.",
  docs: "https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/",
  baseUrl: null,
  baseUrlHint: "Your domain, such as https://example.my.salesforce.com.",
  root: "/services/data/v{{config.apiVersion}}",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "{{config.baseUrl}}/services/oauth2/authorize",
    tokenUrl: "{{config.baseUrl}}/services/oauth2/token",
    scopes: ["api", "refresh_token"],
    tokenAuth: "body",
  },
  verify: { path: "/limits" },
  config: {
    apiVersion: { title: "API version", description: "API version, such as 62.0.", default: "62.0" },
    soql: {
      title: "SOQL",
      description: "SOQL query that the list query runs.",
      default: "SELECT Id, Name, LastModifiedDate FROM Account",
    },
  },
  credentials: {
    clientId: {
      title: "Consumer key",
      description:
        "Salesforce → Setup → App Manager → New External Client App, OAuth enabled with the scopes api and refresh_token. As callback URL, use the redirect URI that the connection shows.",
    },
    clientSecret: { title: "Consumer secret", description: "On the app's page: Settings → OAuth Settings." },
  },
  resources: [
    list("accounts", "Accounts", "SELECT FIELDS(STANDARD) FROM Account"),
    list("contacts", "Contacts", "SELECT FIELDS(STANDARD) FROM Contact"),
    list("leads", "Leads", "SELECT FIELDS(STANDARD) FROM Lead"),
    list("opportunities", "Opportunities", "SELECT FIELDS(STANDARD) FROM Opportunity"),
    list("cases", "Cases", "SELECT FIELDS(STANDARD) FROM Case"),
    list("tasks", "Tasks", "SELECT FIELDS(STANDARD) FROM Task"),
    list("campaigns", "Campaigns", "SELECT FIELDS(STANDARD) FROM Campaign"),
    list("users", "People", "SELECT FIELDS(STANDARD) FROM User"),
    list("query", "What the SOQL asks for", "{{config.soql}}"),
  ],
};
