import { eq, type SQL, sql } from "drizzle-orm";
import { storedJson } from "../../base/json.ts";
import { settings } from "../../store/settings.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";

/** Key of the row with the position in the audit log up to which deliveries were created. */
const FOLLOWED = "webhooks_followed";

/** Position in the audit log up to which deliveries were created. */
export interface Followed {
  all: number;
  /** Organizations that are followed separately, since others would have had to wait for their many events. */
  behind: Readonly<Record<string, number>>;
  /** As stored. Null before it started. */
  text: string | null;
}

export async function readFollowed(db: ReadDb): Promise<Followed> {
  const [row] = await db.select().from(settings).where(eq(settings.key, FOLLOWED));
  const text = row?.value ?? null;
  if (text?.startsWith("{")) return { ...storedJson<Omit<Followed, "text">>(text), text };
  return { all: Number(text ?? 0), behind: {}, text };
}

/** Position of one organization. */
export const positionOf = ({ all, behind }: Followed, organizationId: string): number =>
  behind[organizationId] ?? all;

/** A move of the position, in the transaction that creates the deliveries up to there. */
export interface Move {
  /** Returns false if another process was faster and that is known immediately. */
  move(tx: WriteDb): Promise<boolean>;
  /** SQL condition: whether it has moved. */
  isMoved: SQL;
}

/** Moves the position from `stored`. In the next statement, `isMoved` shows whether it was still there. */
export function moveFollowed(stored: Followed, to: Omit<Followed, "text">): Move {
  const text = Object.keys(to.behind).length === 0 ? String(to.all) : JSON.stringify(to);
  return {
    async move(tx) {
      const put = tx.statement(
        "insert into settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value where settings.value = ?",
      );
      await put([FOLLOWED, text, stored.text]);
      return true;
    },
    isMoved: sql`(select value from settings where key = ${FOLLOWED}) = ${text}`,
  };
}
