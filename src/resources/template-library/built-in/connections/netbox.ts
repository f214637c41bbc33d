import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, path: string): Resource => ({
  name,
  title,
  spec: `/${path}/`,
  primaryKey: ["id"],
  incremental: { cursorField: "last_updated" },
  endpoint: {
    params: { ordering: "id" },
    dataPath: "results",
    totalPath: "count",
    paginator: { type: "offset", sizeParam: "limit", pageSize: 500 },
    incremental: { startParam: "last_updated__gte", endParam: "last_updated__lt", format: "iso" },
  },
});

export const netbox: Service = {
  number: 64,
  slug: "netbox",
  name: "NetBox",
  description: "Devices, sites, racks, addresses and virtual machines of NetBox.",
  docs: "https://netboxlabs.com/docs/netbox/integrations/rest-api/",
  baseUrl: null,
  baseUrlHint: "URL of your NetBox, such as https://netbox.example.com.",
  root: "/api",
  auth: { type: "header", name: "Authorization", value: "Token {{credentials.token}}" },
  verify: { path: "/dcim/sites/?limit=1" },
  credentials: {
    token: {
      title: "API token",
      description: "NetBox → your name → API Tokens → Add a token, without write access.",
    },
  },
  resources: [
    list("devices", "Devices", "dcim/devices"),
    list("sites", "Sites", "dcim/sites"),
    list("racks", "Racks", "dcim/racks"),
    list("interfaces", "Interfaces", "dcim/interfaces"),
    list("ip_addresses", "IP addresses", "ipam/ip-addresses"),
    list("prefixes", "Prefixes", "ipam/prefixes"),
    list("virtual_machines", "Virtual machines", "virtualization/virtual-machines"),
  ],
};
