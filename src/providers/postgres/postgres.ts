import { defineProvider } from "../contract.ts";
import { ROUTE_DESTINATION } from "../sql/route.ts";
import { ServerCredentials, type ServerLink, SSL_MODES, serverConfig } from "../sql/shape.ts";
import { extractTable, openExtractor } from "./extract.ts";
import { tableSpec } from "./names.ts";
import { select } from "./select.ts";
import { openSession, type Session } from "./session.ts";
import { POSTGRES } from "./shape.ts";
import { findTable, listTables, tablesIn } from "./tables.ts";
import { openTarget } from "./write.ts";

/** Time limit of a statement while a user waits. */
const INTERACTIVE_TIMEOUT_MS = 30_000;

/** PostgreSQL 11 and later. Each connection is used for one transaction, read-only unless rows are written. */
export const postgres = defineProvider({
  id: "postgres",
  title: POSTGRES.title,
  description: "Tables and views of a PostgreSQL database.",
  config: serverConfig(POSTGRES),
  credentials: ServerCredentials,
  destination: ["host", "port", "baseUrl", ...ROUTE_DESTINATION],
  guard: { field: "sslMode", levels: SSL_MODES },

  verify: (link) =>
    within(link, async (session) => {
      await session.rows("select 1");
    }),

  tables: {
    tables: (link, includeSystem) => within(link, (session) => listTables(session, includeSystem)),
    columns: (link, schema, table) =>
      within(link, async (session) => {
        const found = await findTable(session, tableSpec(schema, table), link.config.database);
        return found.columns.map(({ name, type, nullable }) => ({ name, dataType: type, nullable }));
      }),
    inSchemas: (link, schemas) => within(link, (session) => tablesIn(session, schemas)),
    sql: {
      dialect: "postgres",
      select: (link, sql, maxRows) => within(link, (session) => select(session, sql, maxRows)),
    },
    writes: { open: openTarget },
  },

  extract: (link, request) => extractTable(link, request),
  extractor: openExtractor,
});

async function within<T>(link: ServerLink, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openSession(link, INTERACTIVE_TIMEOUT_MS);
  try {
    return await work(session);
  } catch (error) {
    throw session.failure(error);
  } finally {
    await session.close();
  }
}
