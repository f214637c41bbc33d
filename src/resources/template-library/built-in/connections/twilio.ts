import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, file: string, field: string): Resource => ({
  name,
  title,
  spec: `/${file}.json`,
  primaryKey: ["sid"],
  endpoint: {
    dataPath: field,
    paginator: { type: "json_link", nextPath: "next_page_uri", sizeParam: "PageSize", pageSize: 1000 },
  },
});

export const twilio: Service = {
  number: 23,
  slug: "twilio",
  name: "Twilio",
  description: "Reads messages and calls of a Twilio account, and sends messages.",
  docs: "https://www.twilio.com/docs/usage/api",
  baseUrl: "https://api.twilio.com",
  root: "/2010-04-01/Accounts/{{config.accountSid}}",
  auth: { type: "basic", username: "{{config.accountSid}}", password: "{{credentials.authToken}}" },
  verify: { path: "/Balance.json" },
  config: {
    accountSid: {
      title: "Account SID",
      description: "On the start page of your Twilio account. It starts with AC.",
    },
  },
  credentials: { authToken: { title: "Auth token", description: "Next to the Account SID." } },
  resources: [
    list("messages", "Messages", "Messages", "messages"),
    list("calls", "Calls", "Calls", "calls"),
    list("recordings", "Recordings", "Recordings", "recordings"),
    list("phone_numbers", "Phone numbers", "IncomingPhoneNumbers", "incoming_phone_numbers"),
  ],
};
