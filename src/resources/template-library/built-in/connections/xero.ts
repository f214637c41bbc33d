import type { Pages, Resource, Service } from "./contract.ts";

const PAGES: Pages = { type: "page", sizeParam: "pageSize", pageSize: 100 };

const list = (
  name: string,
  title: string,
  path: string,
  key: string,
  paginator: Pages = PAGES,
): Resource => ({
  name,
  title,
  spec: `/${path}`,
  primaryKey: [key],
  endpoint: { dataPath: path, paginator },
});

export const xero: Service = {
  number: 47,
  slug: "xero",
  name: "Xero",
  description: "Invoices, contacts, payments and accounts of a Xero organization, by signing in with Xero.",
  docs: "https://developer.xero.com/documentation/api/accounting/overview",
  baseUrl: "https://api.xero.com",
  root: "/api.xro/2.0",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://login.xero.com/identity/connect/authorize",
    tokenUrl: "https://identity.xero.com/connect/token",
    scopes: [
      "offline_access",
      "accounting.invoices.read",
      "accounting.payments.read",
      "accounting.banktransactions.read",
      "accounting.contacts.read",
      "accounting.settings.read",
    ],
  },
  headers: { "xero-tenant-id": "{{config.tenantId}}" },
  verify: { path: "/Organisation" },
  requestsPerMinute: 60,
  config: {
    tenantId: {
      title: "Tenant",
      description: "ID of the organization: tenantId in the response of https://api.xero.com/connections.",
    },
  },
  credentials: {
    clientId: {
      title: "Client id",
      description:
        "developer.xero.com/app/manage → New app → Web app. Use the redirect URI that the connection shows.",
    },
    clientSecret: {
      title: "Client secret",
      description: "The app's page → Configuration → Generate a secret.",
    },
  },
  resources: [
    list("invoices", "Invoices", "Invoices", "InvoiceID"),
    list("contacts", "Contacts", "Contacts", "ContactID"),
    list("payments", "Payments", "Payments", "PaymentID"),
    list("bank_transactions", "Bank transactions", "BankTransactions", "BankTransactionID"),
    list("credit_notes", "Credit notes", "CreditNotes", "CreditNoteID"),
    list("accounts", "Accounts", "Accounts", "AccountID", { type: "none" }),
    list("items", "Items", "Items", "ItemID", { type: "none" }),
  ],
};
