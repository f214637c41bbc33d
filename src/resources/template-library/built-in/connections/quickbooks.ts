import type { Service } from "./contract.ts";

export const quickbooks: Service = {
  number: 48,
  slug: "quickbooks",
  name: "QuickBooks Online",
  description:
    "Company and reports of QuickBooks Online, and with http_request its query language, by signing in with Intuit.",
  docs: "https://developer.intuit.com/app/developer/qbo/docs/api/accounting/all-entities/account",
  baseUrl: "https://quickbooks.api.intuit.com",
  baseUrlHint: "For a sandbox company: https://sandbox-quickbooks.api.intuit.com.",
  root: "/v3/company/{{config.realmId}}",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://appcenter.intuit.com/connect/oauth2",
    tokenUrl: "https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer",
    scopes: ["com.intuit.quickbooks.accounting"],
  },
  verify: { path: "/companyinfo/{{config.realmId}}" },
  config: {
    realmId: {
      title: "Company",
      description: "QuickBooks → Settings → Account and settings → Billing: the Company ID.",
    },
  },
  credentials: {
    clientId: {
      title: "Client id",
      description:
        "developer.intuit.com → My Apps → Keys & credentials. Use the redirect URI that the connection shows.",
    },
    clientSecret: { title: "Client secret", description: "On the same page as the client ID." },
  },
  resources: [
    {
      name: "preferences",
      title: "Preferences of the company",
      spec: "/preferences",
      primaryKey: ["Id"],
      endpoint: { dataPath: "Preferences", paginator: { type: "none" } },
    },
    {
      name: "profit_and_loss",
      title: "Rows of the report Profit and Loss",
      spec: "/reports/ProfitAndLoss",
      endpoint: { dataPath: "Rows.Row", paginator: { type: "none" } },
    },
    {
      name: "balance_sheet",
      title: "Rows of the balance sheet",
      spec: "/reports/BalanceSheet",
      endpoint: { dataPath: "Rows.Row", paginator: { type: "none" } },
    },
  ],
};
