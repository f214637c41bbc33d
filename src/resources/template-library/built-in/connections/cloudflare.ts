import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, spec: string, pageSize = 50): Resource => ({
  name,
  title,
  spec,
  primaryKey: ["id"],
  endpoint: {
    dataPath: "result",
    totalPath: "result_info.total_count",
    paginator: { type: "page", sizeParam: "per_page", pageSize },
  },
});

export const cloudflare: Service = {
  number: 55,
  slug: "cloudflare",
  name: "Cloudflare",
  description: "Zones, DNS records and accounts of Cloudflare.",
  docs: "https://developers.cloudflare.com/api/",
  baseUrl: "https://api.cloudflare.com",
  root: "/client/v4",
  auth: { type: "bearer" },
  verify: { path: "/user/tokens/verify" },
  requestsPerMinute: 240,
  config: {
    zoneId: {
      title: "Zone",
      description: "The zone's page → Overview → API: Zone ID. Required for its DNS records.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "API token",
      description: "Cloudflare → My Profile → API Tokens → Create Token, with Zone Read and DNS Read.",
    },
  },
  resources: [
    list("zones", "Zones", "/zones"),
    list("dns_records", "DNS records of the zone", "/zones/{{config.zoneId}}/dns_records", 100),
    list("accounts", "Accounts", "/accounts"),
  ],
};
