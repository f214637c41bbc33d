import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, spec = `/${name}`, key = "id"): Resource => ({
  name,
  title,
  spec,
  primaryKey: [key],
  endpoint: {
    dataPath: name,
    totalPath: "meta.total",
    paginator: { type: "page", sizeParam: "per_page", pageSize: 200 },
  },
});

export const digitalocean: Service = {
  number: 56,
  slug: "digitalocean",
  name: "DigitalOcean",
  description: "Droplets, volumes, domains and invoices of DigitalOcean.",
  docs: "https://docs.digitalocean.com/reference/api/",
  baseUrl: "https://api.digitalocean.com",
  root: "/v2",
  auth: { type: "bearer" },
  verify: { path: "/account" },
  requestsPerMinute: 240,
  credentials: {
    token: {
      title: "Personal access token",
      description: "DigitalOcean → API → Tokens → Generate New Token, with read.",
    },
  },
  resources: [
    list("droplets", "Droplets"),
    list("volumes", "Volumes"),
    list("domains", "Domains", "/domains", "name"),
    list("projects", "Projects"),
    list("load_balancers", "Load balancers"),
    list("kubernetes_clusters", "Kubernetes clusters", "/kubernetes/clusters"),
    list("invoices", "Invoices", "/customers/my/invoices", "invoice_uuid"),
  ],
};
