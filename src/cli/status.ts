import { systemClock, timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { type Account, accountAt, agentOf, serverOf, signedIn, whileSignedIn } from "./account.ts";
import { type Client, failureOf, openClient, plain } from "./client.ts";
import { openCredentials } from "./credentials.ts";
import { printFields } from "./show.ts";
import { usage } from "./usage.ts";
import { queryText, singleCommand, verb } from "./verbs.ts";

/** What needs attention. */
interface Attention {
  /** In the last 24 hours. */
  failedRuns: number;
  pendingApprovals: number;
  brokenConnections: number;
  /** At most 100. */
  deadLetters: number;
}

const DAY_MS = 86_400_000;
const MOST_LETTERS = 100;

/** `weir status`: shows the server's health, the account, and what needs attention. */
export const status = singleCommand(
  usage.status,
  verb({
    async run({ flags, host }) {
      const server = serverOf(host, flags.server);
      const token = openCredentials(host.person).tokenFor(server);
      const caller = { userAgent: agentOf(host), organization: flags.org ?? host.person.organization };
      const client = openClient(server, token === null ? caller : { ...caller, token });
      const health = await whileSignedIn(server, healthOf(client));
      if (token === null) {
        if (flags.json) host.out(JSON.stringify({ server, health: health.status }));
        else printFields(host, { server, health: health.text });
        refuseBad(server, health);
        signedIn(host, flags.server);
        return;
      }
      const { version, model, account, attention } = await whileSignedIn(server, survey(server, client));
      if (flags.json)
        host.out(
          JSON.stringify({
            ...account,
            version,
            model,
            health: health.status,
            checks: health.checks,
            attention,
          }),
        );
      else {
        const { organizationSlug, role } = account;
        printFields(host, {
          server,
          version,
          health: health.text,
          "signed in": account.email,
          organization: organizationSlug === null ? null : `${organizationSlug}, as ${role}`,
          model: model ?? "none configured (agents unavailable)",
          attention: attentionText(attention),
        });
      }
      refuseBad(server, health);
    },
  }),
);

interface Health {
  status: string;
  /** Null unless the user is an admin. */
  checks: Json;
  /** For people. */
  text: string;
}

/** Throws if nothing responds, or something other than Weir. */
async function healthOf(client: Client): Promise<Health> {
  const path = "/api/v1/health?deep=true";
  const answer = await client.reply("GET", path);
  const { body } = answer;
  if (!isObject(body) || typeof body.status !== "string") throw failureOf(answer);
  const { status, checks = null } = body;
  const bad = Object.entries(isObject(checks) ? checks : {}).filter(
    ([, check]) => isObject(check) && check.ok !== true,
  );
  const reasons = bad.map(
    ([name, check]) => `${name}: ${isObject(check) ? (check.detail ?? "fails") : "fails"}`,
  );
  return { status, checks, text: plain([status, reasons.join("; ")].filter(Boolean).join(", ")) };
}

function refuseBad(server: string, { status, text }: Health): void {
  if (status !== "ok") throw new AppError("unavailable", `${server} is unhealthy: ${text}`);
}

async function survey(server: string, client: Client) {
  const since = timestamp(systemClock, -DAY_MS);
  const count = async (path: string, query: Parameters<typeof queryText>[0]) =>
    (await client.get<{ total: number }>(path + queryText(query))).total;
  const [{ version, limits }, account, failedRuns, pendingApprovals, brokenConnections, letters] =
    await Promise.all([
      client.get<{ version: string; limits?: { model?: { model: string } | null } }>("/api/v1/meta"),
      accountAt(server, client),
      count("/api/v1/action-runs", { statuses: "failed", since, limit: 1 }),
      count("/api/v1/approvals", { status: "pending" }),
      count("/api/v1/connections", { status: "error", limit: 1 }),
      client.get<{ items: { status: string }[] }>(`/api/v1/dead-letters?limit=${MOST_LETTERS}`),
    ]);
  const deadLetters = letters.items.filter((letter) => letter.status === "dead").length;
  const attention: Attention = { failedRuns, pendingApprovals, brokenConnections, deadLetters };
  const model = limits?.model?.model ?? null;
  return { version, model, account: account satisfies Account, attention };
}

function attentionText({ failedRuns, pendingApprovals, brokenConnections, deadLetters }: Attention): string {
  const matters: [count: number, one: string, many: string][] = [
    [failedRuns, "run failed in the last 24 hours", "runs failed in the last 24 hours"],
    [pendingApprovals, "pending approval", "pending approvals"],
    [brokenConnections, "failing connection", "failing connections"],
    [deadLetters, "dead letter", "dead letters"],
  ];
  const texts = matters
    .filter(([count]) => count > 0)
    .map(([count, one, many]) => `${count} ${count === 1 ? one : many}`);
  return texts.length === 0 ? "nothing" : texts.join("\n");
}
