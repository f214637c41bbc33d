import type { Service } from "./contract.ts";

export const homeAssistant: Service = {
  number: 44,
  slug: "home-assistant",
  name: "Home Assistant",
  description: "Reads states of all entities, services and calendars of Home Assistant, and calls services.",
  docs: "https://developers.home-assistant.io/docs/api/rest/",
  baseUrl: null,
  baseUrlHint: "URL of Home Assistant, such as http://homeassistant.local:8123.",
  root: "/api",
  auth: { type: "bearer" },
  verify: { path: "/config" },
  credentials: {
    token: {
      title: "Long-lived access token",
      description: "Home Assistant → your name → Security → Long-lived access tokens → Create token.",
    },
  },
  resources: [
    {
      name: "states",
      title: "States of all entities",
      spec: "/states",
      primaryKey: ["entity_id"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "services",
      title: "Services",
      spec: "/services",
      primaryKey: ["domain"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "events",
      title: "Kinds of events",
      spec: "/events",
      primaryKey: ["event"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "calendars",
      title: "Calendars",
      spec: "/calendars",
      primaryKey: ["entity_id"],
      endpoint: { paginator: { type: "none" } },
    },
  ],
};
