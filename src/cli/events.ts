import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import type { Reply } from "../calls.ts";
import { serverOf } from "./account.ts";
import { plain } from "./client.ts";
import { openCredentials } from "./credentials.ts";
import { lacksSeal, readSeals, type StoredSeal } from "./events-seals.ts";
import { tailEvents } from "./events-tail.ts";
import { type Host, UsageError } from "./host.ts";
import { numberInput } from "./input.ts";
import { printJson } from "./show.ts";
import { apiOf, type CommandInput, commandOf, verb } from "./verbs.ts";

/** Number of past events to show before new ones. */
const SHOWN_FIRST = 10;
const MOST_FIRST = 200;

type Verification = Reply<"GET /api/v1/events/verify">;

const REASONS = {
  truncated: "the latest events are missing",
  rewritten: "events were changed or removed",
  rolled_back: "an older copy was restored",
};

/** `weir events tail|verify` */
export const events = commandOf("events", {
  tail: verb({
    options: { type: { type: "string" }, correlation: { type: "string" }, limit: { type: "string" } },
    async run({ flags, host }) {
      const first = numberInput("--limit", flags.limit) ?? SHOWN_FIRST;
      if (first > MOST_FIRST) throw new UsageError(`Invalid --limit. The maximum is ${MOST_FIRST}.`);
      const filter = { type: flags.type, correlationId: flags.correlation };
      await tailEvents(apiOf({ flags, host }), host, { filter, first, isJson: flags.json === true });
    },
  }),
  verify: verb({
    options: { data: { type: "string" }, against: { type: "string" } },
    async run({ flags, host }) {
      if (flags.server !== undefined && flags.data !== undefined)
        throw new UsageError("Set either --server or --data.");
      if (flags.server === undefined && flags.org !== undefined)
        throw new UsageError("--org requires --server. With --data, every organization is verified.");
      const isThere = flags.server !== undefined || (flags.data === undefined && (await isElsewhere(host)));
      const kept = flags.against === undefined ? [] : readSeals(flags.against);
      const found = isThere ? await there(flags, host, kept) : await here(flags, host, kept);
      if (!found.valid) throw new AppError("invalid_state", `The audit log is not valid: ${faultOf(found)}.`);
    },
  }),
});

/** True if there is no audit log on this machine, and the user is signed in to a server. */
async function isElsewhere(host: Host): Promise<boolean> {
  const { dataFolder, databaseUrl } = (await host.parts({})).config;
  if (databaseUrl !== null || existsSync(join(dataFolder, "weir.db"))) return false;
  return openCredentials(host.person).tokenFor(serverOf(host, undefined)) !== null;
}

async function here(
  flags: { data?: string; json?: boolean },
  host: Host,
  kept: readonly StoredSeal[],
): Promise<Verification> {
  const { verifyHere } = await import("./events-verify.ts");
  const whole = await verifyHere(await host.parts({ data: flags.data }), kept, {
    onChain(slug, found) {
      if (!flags.json) host.out(chainText(slug, found));
    },
    onGone(id, erased) {
      if (!flags.json) host.out(goneText(id, erased));
    },
  });
  if (flags.json) host.out(JSON.stringify(whole));
  return whole;
}

async function there(
  flags: CommandInput["flags"],
  host: Host,
  kept: readonly StoredSeal[],
): Promise<Verification> {
  const api = apiOf({ flags, host });
  const { body } = await api.call("GET /api/v1/events/verify", {});
  const isBack = body.valid && kept.length > 0 && (await lacksSeal(api, kept));
  const found: Verification = isBack ? { ...body, valid: false, reason: "rolled_back" } : body;
  if (flags.json) printJson(host, JSON.stringify(found));
  else host.out(chainText(api.server, found));
  return found;
}

const faultOf = ({ reason, firstBadId }: Verification) =>
  `${REASONS[reason ?? "rewritten"]}${firstBadId === null ? "" : `, first at ${firstBadId}`}`;

const goneText = (id: string, erased: string | null) =>
  erased === null
    ? `Organization ${id} has seals in the file, but isn't in the database: an older copy was restored, or another installation's file was given.`
    : `Organization ${id} was erased on ${erased}. Its seals have nothing left to compare.`;

function chainText(name: string, found: Verification): string {
  const redacted = found.redacted ? `, ${found.redacted} of them redacted` : "";
  return plain(
    `${name}: ${found.valid ? "valid" : faultOf(found)}, ${found.checked} events verified${redacted}`,
  );
}
