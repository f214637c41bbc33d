import { sql } from "drizzle-orm";
import type { WriteDb } from "../../store/store.ts";

/** Removes an address from the alerts of all automations and their versions, so that no more emails are sent to it. */
export async function leaveAlerts(db: WriteDb, address: string): Promise<void> {
  const needle = JSON.stringify(address).slice(1, -1);
  for (const [table, column, path] of [
    ["automations", "config", "$.alerts.notify"],
    ["automation_versions", "config", "$.alerts.notify"],
    ["versions", "content", "$.config.alerts.notify"],
  ] as const) {
    const [name, field] = [sql.identifier(table), sql.identifier(column)];
    await db.run(
      sql`update ${name} set ${field} = json_set(${field}, ${path}, json((
          select json_group_array(json(value)) from json_each(${field}, ${path})
          where trim(lower(coalesce(json_extract(value, '$.email'), ''))) <> ${address})))
        where instr(lower(json_extract(${field}, ${path})), ${needle}) > 0`,
    );
  }
}
