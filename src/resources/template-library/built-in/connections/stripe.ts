import type { Lists, Service } from "./contract.ts";

/** Filters by creation time, since Stripe can't list what has changed. */
const MADE: Lists = {
  primaryKey: ["id"],
  incremental: { cursorField: "created" },
  endpoint: {
    dataPath: "data",
    paginator: {
      type: "cursor",
      cursorPath: "data[-1].id",
      cursorParam: "starting_after",
      hasNextPath: "has_more",
      sizeParam: "limit",
      pageSize: 100,
    },
    incremental: { startParam: "created[gte]", endParam: "created[lt]", format: "epoch_s" },
  },
};

export const stripe: Service = {
  number: 3,
  slug: "stripe",
  name: "Stripe",
  description: "Payments, customers, invoices, subscriptions and payouts of a Stripe account.",
  docs: "https://docs.stripe.com/api",
  baseUrl: "https://api.stripe.com",
  root: "/v1",
  auth: { type: "bearer", token: "{{credentials.secretKey}}" },
  verify: { path: "/balance" },
  requestsPerMinute: 1200,
  credentials: {
    secretKey: {
      title: "Secret or restricted key",
      description:
        "Stripe → Developers → API keys → Create restricted key, with Read access to what you load. It starts with rk_ or sk_.",
    },
  },
  resources: [
    { name: "charges", title: "Charges", spec: "/charges", ...MADE },
    { name: "customers", title: "Customers", spec: "/customers", ...MADE },
    { name: "invoices", title: "Invoices", spec: "/invoices", ...MADE },
    { name: "payment_intents", title: "Payment intents", spec: "/payment_intents", ...MADE },
    {
      ...MADE,
      name: "subscriptions",
      title: "Subscriptions, cancelled ones too",
      spec: "/subscriptions",
      endpoint: { ...MADE.endpoint, params: { status: "all" } },
    },
    { name: "products", title: "Products", spec: "/products", ...MADE },
    { name: "prices", title: "Prices", spec: "/prices", ...MADE },
    { name: "refunds", title: "Refunds", spec: "/refunds", ...MADE },
    { name: "payouts", title: "Payouts", spec: "/payouts", ...MADE },
    { name: "balance_transactions", title: "Balance transactions", spec: "/balance_transactions", ...MADE },
    { name: "disputes", title: "Disputes", spec: "/disputes", ...MADE },
    { name: "events", title: "Events of the last 30 days", spec: "/events", ...MADE },
  ],
};
