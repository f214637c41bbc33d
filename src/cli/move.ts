import { readAuthorities } from "../authorities.ts";
import { systemClock } from "../base/clock.ts";
import { systemIds } from "../base/ids.ts";
import { withoutSecrets } from "../base/setting.ts";
import { moveDatabase } from "../engine/move.ts";
import { keysAt, logsSummary, logsText } from "./backup.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir move --from PLACE --to PLACE`: moves a database from a data directory to PostgreSQL, or back. */
export const move = (args: readonly string[], host: Host) =>
  carryOut(host, usage.move.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: {
        from: { type: "string" },
        to: { type: "string" },
        "allow-invalid-logs": { type: "boolean" },
        json: { type: "boolean" },
      },
    });
    const { from, to } = flags;
    if (from === undefined || to === undefined) throw new UsageError("Missing flags: --from and --to.");
    const parts = await host.parts({});
    const { config, secrets } = parts;
    const { tables, organizations, events, auditLogs } = await moveDatabase({
      from,
      to,
      token: secrets.databaseToken ?? undefined,
      ca: readAuthorities(config),
      clock: systemClock,
      ids: systemIds,
      keysAt: (dataFolder) => keysAt(parts, dataFolder),
      allowInvalidLogs: flags["allow-invalid-logs"] ?? false,
      onTable: (table) => host.status(`Moving ${table}…`),
    }).finally(() => host.status(""));
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const places = { from: withoutSecrets(from), to: withoutSecrets(to) };
    const counts = { organizations, events, rows, tables };
    if (flags.json) return host.out(JSON.stringify({ ...places, ...counts, ...logsSummary(auditLogs) }));
    host.out(`Moved ${rows} rows of ${tables.length} tables to ${places.to}. ${logsText(auditLogs)}`);
    host.out(
      to.includes("://")
        ? "Set WEIR_DATABASE_URL to the new database and start the server."
        : `Unset WEIR_DATABASE_URL and start the server with --data ${to}.`,
    );
  });
