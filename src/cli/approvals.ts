import { plain } from "./client.ts";
import { jsonInput, wideInput } from "./input.ts";
import { type Column, printJson, printTable, timeColumn } from "./show.ts";
import { apiOf, commandOf, LISTING, type Verb, verb } from "./verbs.ts";

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
    extra: 1,
  },
  { title: "STATUS", of: ({ status }) => status, extra: 2 },
  timeColumn("REQUESTED", ({ requestedAt }) => requestedAt, 3),
  { title: "AUTOMATION", of: ({ automationName }) => automationName, extra: 4 },
  { title: "TITLE", of: ({ title }) => title, isName: true },
];

/** `weir approvals list|approve|reject` */
export const approvals = commandOf("approvals", {
  list: verb({
    options: { status: { type: "string" }, output: LISTING.output },
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const { body, text } = await apiOf({ flags, host }).get<{ items: Approval[] }>("/api/v1/approvals", {
        status: flags.status,
      });
      if (flags.json) return printJson(host, text);
      printTable(host, body.items, COLUMNS, { isWide });
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
