import { plain } from "./client.ts";
import { jsonInput } from "./input.ts";
import { type Column, instantText, printJson, printTable } from "./show.ts";
import { apiOf, commandOf, type Verb, verb } from "./verbs.ts";

interface Approval {
  id: string;
  title: string;
  decisionType: string;
  status: string;
  automationName: string | null;
  requestedAt: string;
}

const COLUMNS: readonly Column<Approval>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true },
  {
    title: "RESPONSE",
    of: ({ decisionType }) => (decisionType === "form_input" ? "form" : "approve or reject"),
  },
  { title: "STATUS", of: ({ status }) => status },
  { title: "REQUESTED", of: ({ requestedAt }) => instantText(requestedAt) },
  { title: "AUTOMATION", of: ({ automationName }) => automationName },
  { title: "TITLE", of: ({ title }) => title },
];

/** `weir approvals list|approve|reject` */
export const approvals = commandOf("approvals", {
  list: verb({
    options: { status: { type: "string" } },
    async run({ flags, host }) {
      const { body, text } = await apiOf({ flags, host }).get<{ items: Approval[] }>("/api/v1/approvals", {
        status: flags.status,
      });
      if (flags.json) return printJson(host, text);
      printTable(host, body.items, COLUMNS);
    },
  }),
  approve: decide("approve", "approved"),
  reject: decide("reject", "rejected"),
});

function decide(decision: "approve" | "reject", done: string): Verb {
  return verb({
    words: "APPROVAL",
    options: { reason: { type: "string" }, form: { type: "string" } },
    async run({ flags, words, host }) {
      const formResponse = await jsonInput(host, "--form", flags.form);
      const { body, text } = await apiOf({ flags, host }).send<Approval>(
        "POST",
        `/api/v1/approvals/${encodeURIComponent(words[0] ?? "")}/${decision}`,
        { formResponse, rejectionReason: flags.reason },
      );
      if (flags.json) return printJson(host, text);
      host.out(plain(`"${body.title}" ${done}.`));
    },
  });
}
