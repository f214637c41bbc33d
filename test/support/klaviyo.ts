import type { Item, TestKlaviyo } from "../peers/klaviyo.ts";

/** This many minutes into May 2026, in Klaviyo's format. */
export const instant = (n: number) =>
  `${new Date(Date.UTC(2026, 4, 1) + n * 60_000).toISOString().slice(0, 19)}+00:00`;

const id = (prefix: string, n: number) => `${prefix}${String(n).padStart(6, "0")}`;

/** Profile number `n`, changed `n` minutes into May 2026. */
export const profile = (n: number, more: object = {}): Item => ({
  id: id("P", n),
  attributes: {
    email: `p${n}@example.com`,
    phone_number: null,
    external_id: null,
    first_name: `First ${n}`,
    last_name: `Last ${n}`,
    organization: null,
    locale: "de-AT",
    title: null,
    image: null,
    created: instant(n),
    updated: instant(n),
    last_event_date: null,
    location: { city: "Graz", country: "Austria", latitude: 47.07, longitude: null },
    properties: { favourite: n % 2 === 0 ? "even" : "odd" },
    subscriptions: { email: { marketing: { consent: "SUBSCRIBED" } } },
    predictive_analytics: { historic_clv: 12.5 },
    ...more,
  },
});

export const event = (n: number, more: object = {}): Item => ({
  id: id("E", n),
  attributes: {
    timestamp: Date.UTC(2026, 4, 1) / 1000 + n * 60,
    datetime: instant(n),
    uuid: crypto.randomUUID(),
    event_properties: { $value: n + 0.5, items: [{ sku: "a" }, { sku: "b" }] },
    ...more,
  },
  relationships: {
    profile: { data: { type: "profile", id: id("P", n % 3) }, links: { self: "x" } },
    metric: { data: { type: "metric", id: "M1" } },
    attributions: { data: [], links: { self: "x" } },
  },
});

export const campaign = (n: number, channel: string, archived: boolean): Item => ({
  id: id("C", n),
  channel,
  attributes: {
    name: `Campaign ${n}`,
    status: "Sent",
    archived,
    audiences: { included: ["L1"], excluded: [] },
    send_options: { use_smart_sending: true },
    tracking_options: null,
    send_strategy: { method: "immediate" },
    created_at: instant(n),
    scheduled_at: null,
    updated_at: instant(n),
    send_time: instant(n),
  },
});

/** An object with a name and two dates: a flow, a list, a segment or a metric. */
export const named = (prefix: string, n: number, more: object = {}): Item => ({
  id: id(prefix, n),
  attributes: { name: `Thing ${n}`, created: instant(n), updated: instant(n), ...more },
});

/** Calls `make` with the numbers from 1 to `n`. */
export const many = <T>(n: number, make: (n: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => make(index + 1));

/** Body of a connection to the peer. */
export const klaviyoConnection = (peer: TestKlaviyo, config: object = {}, name = "Letters") => ({
  name,
  provider: "klaviyo",
  config: { baseUrl: peer.baseUrl, ...config },
  credentials: { apiKey: peer.apiKey },
});
