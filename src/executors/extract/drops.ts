import type { Json } from "../../base/json.ts";
import type { SqlSession } from "../../sql/contract.ts";
import type { Reject } from "./rejects.ts";
import { SEQUENCE, type Sheet } from "./sheet.ts";

/** Why a staged row isn't loaded. */
export type Reason = "filtered" | "deduplicated" | "rejected";
export type Counts = Record<Reason, number>;

const TABLE = "weir_dropped";
const CHILDREN = "weir_dropped_children";

/** The staged rows of one resource, and which of them are dropped, by number of the root row. */
export class Drops {
  #any = false;
  #anyChildren = false;
  /** Rows that were rejected, up to the maximum. */
  readonly rejects: Reject[] = [];

  private constructor(
    readonly session: SqlSession,
    readonly root: Sheet,
  ) {}

  static async open(session: SqlSession, root: Sheet): Promise<Drops> {
    await session.run(`CREATE OR REPLACE TEMP TABLE ${TABLE} (seq BIGINT, reason VARCHAR)`);
    await session.run(`CREATE OR REPLACE TEMP TABLE ${CHILDREN} (id VARCHAR)`);
    return new Drops(session, root);
  }

  get any(): boolean {
    return this.#any || this.#anyChildren;
  }

  /** A SELECT of the remaining rows of a sheet. */
  alive(sheet: Sheet): string {
    const roots = this.#any ? ` ANTI JOIN ${TABLE} d ON s.${SEQUENCE.name} = d.seq` : "";
    const children =
      this.#anyChildren && sheet !== this.root ? ` ANTI JOIN ${CHILDREN} e ON s._dlt_id = e.id` : "";
    return `SELECT s.* FROM (${sheet.scan()}) s${roots}${children}`;
  }

  /** Returns a SELECT of the root rows that the load has read, without those outside its range. */
  read(): string {
    const filtered = this.#any
      ? ` ANTI JOIN ${TABLE} d ON s.${SEQUENCE.name} = d.seq AND d.reason = 'filtered'`
      : "";
    return `SELECT s.* FROM (${this.root.scan()}) s${filtered}`;
  }

  /** Drops the root rows whose numbers `select` returns, with their child rows. */
  async drop(
    reason: Reason,
    select: string,
    parameters: readonly Json[] = [],
    options = { isTenants: false },
  ): Promise<number> {
    const insert = `INSERT INTO ${TABLE} SELECT *, '${reason}' FROM (${select})`;
    const [row] = await this.session.run(insert, parameters, options);
    const count = Number(Object.values(row ?? {})[0] ?? 0);
    if (count > 0) this.#any = true;
    return count;
  }

  /** Drops rows of a child table. */
  async dropChildren(sheet: Sheet, condition: string): Promise<number> {
    const [row] = await this.session.run(
      `INSERT INTO ${CHILDREN} SELECT _dlt_id FROM (${this.alive(sheet)}) WHERE ${condition}`,
    );
    const count = Number(Object.values(row ?? {})[0] ?? 0);
    if (count > 0) this.#anyChildren = true;
    return count;
  }

  /** Drops the child rows of dropped child rows. */
  async dropOrphans(sheet: Sheet): Promise<void> {
    if (this.#anyChildren) await this.dropChildren(sheet, `_dlt_parent_id IN (SELECT id FROM ${CHILDREN})`);
  }

  async counts(sheet: Sheet): Promise<Counts> {
    const counts: Counts = { filtered: 0, deduplicated: 0, rejected: 0 };
    if (this.#any) {
      const rows = await this.session.run(
        `SELECT d.reason, count(*) AS n FROM (${sheet.scan()}) s JOIN ${TABLE} d ON s.${SEQUENCE.name} = d.seq GROUP BY ALL`,
      );
      for (const row of rows) counts[row.reason as Reason] = Number(row.n);
    }
    if (this.#anyChildren && sheet !== this.root) {
      const roots = this.#any ? `ANTI JOIN ${TABLE} d ON s.${SEQUENCE.name} = d.seq` : "";
      const [row] = await this.session.run(
        `SELECT count(*) AS n FROM (${sheet.scan()}) s ${roots} SEMI JOIN ${CHILDREN} e ON s._dlt_id = e.id`,
      );
      counts.rejected += Number(row?.n ?? 0);
    }
    return counts;
  }
}
