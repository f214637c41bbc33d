import { asc } from "drizzle-orm";
import { verifyChain } from "../resources/events/verify.ts";
import type { Verification } from "../resources/events/wire.ts";
import { organizations } from "../resources/organizations/table.ts";
import { carryOut, type Host, readArgs, UsageError, withApp } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir events verify`: recomputes every organization's chain; exit code 1 when one does not hold. */
export async function events(args: readonly string[], host: Host): Promise<number> {
  let holds = true;
  const code = await carryOut(host, usage.events.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: { data: { type: "string" }, json: { type: "boolean" } },
    });
    if (positionals.length !== 1 || positionals[0] !== "verify")
      throw new UsageError("Say what to do with the events: verify.");
    const whole: Verification = { valid: true, checked: 0, firstBadId: null };
    await withApp(host.parts(flags), async ({ store }) => {
      for (const { id, slug } of await store.db.select().from(organizations).orderBy(asc(organizations.id))) {
        const found = await verifyChain(store.db, id);
        whole.valid &&= found.valid;
        whole.checked += found.checked;
        whole.firstBadId ??= found.firstBadId;
        if (!flags.json)
          host.out(
            `${slug}: ${found.valid ? "valid" : `broken at ${found.firstBadId}`}, ${found.checked} events checked`,
          );
      }
    });
    if (flags.json) host.out(JSON.stringify(whole));
    holds = whole.valid;
  });
  return code === 0 && !holds ? 1 : code;
}
