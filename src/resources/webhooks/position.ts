import { eq, type SQL, sql } from "drizzle-orm";
import { storedJson } from "../../base/json.ts";
import { settings } from "../../store/settings.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";

/** The key of the row that tells up to which position of the trail deliveries were made. */
const FOLLOWED = "webhooks_followed";

/** Up to which position of the trail deliveries were made. */
export interface Followed {
  all: number;
  /** Organizations that are followed on their own, since they had so much that others would have waited for it. */
  behind: Readonly<Record<string, number>>;
  /** As it is stored; null before it began. */
  text: string | null;
}

export async function readFollowed(db: ReadDb): Promise<Followed> {
  const [row] = await db.select().from(settings).where(eq(settings.key, FOLLOWED));
  const text = row?.value ?? null;
  if (text?.startsWith("{")) return { ...storedJson<Omit<Followed, "text">>(text), text };
  return { all: Number(text ?? 0), behind: {}, text };
}

/** Of one organization. */
export const positionOf = ({ all, behind }: Followed, organizationId: string): number =>
  behind[organizationId] ?? all;

/** A move of the position, in the transaction that makes the deliveries up to there. */
export interface Move {
  /** False where another process was faster, if that is known at once. */
  move(tx: WriteDb): Promise<boolean>;
  /** True in SQL once it has moved. */
  isMoved: SQL;
}

/** From `stored` to another position; `isMoved` tells in the next statement whether it was there. */
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
