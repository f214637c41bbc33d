import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";

/** Rows of one page, and the request for the next; null after the last. */
export interface ApiPage<PageRequest, Row = JsonObject> {
  rows: Row[];
  next: PageRequest | null;
}

export interface PageWalk<PageRequest, Row = JsonObject> {
  /** Name of the system, at the beginning of a sentence. */
  system: string;
  /** JSON; equal requests return the same page. */
  first: PageRequest;
  /** Throws `expiredCursor` if the request's cursor is no longer valid. */
  read(request: PageRequest): Promise<ApiPage<PageRequest, Row>>;
  /** Identifies a row and its state. Null if a row can't be identified. */
  keyOf(row: Row): string | null;
  /** The value that rows are sorted by; with it, `resume` can continue after a row. */
  orderOf?(row: Row): string | null;
  /** Request for rows from this order value on, inclusive. Null if the API can't do that. */
  resume?(order: string): PageRequest | null;
  /** Maximum rows of one list at the API. After these, reading continues with `resume`. */
  resumeAfter?: number;
  /** Number of rows after which the rest is read faster in another way. */
  leap?: {
    after: number;
    /**
     * Rows from this order value on, inclusive, in any order. Returns the value from which the pages continue, or null
     * if it yielded nothing and they continue where they were.
     */
    rows(order: string): AsyncGenerator<Row[], string | null>;
  };
  /** Number of rows after which no more pages are requested; null for all. */
  maxRows: number | null;
  signal: AbortSignal;
}

const REASON = "cursor_expired";

/** Error for a cursor that the API no longer accepts. */
export const expiredCursor = (system: string): AppError =>
  new AppError(
    "upstream",
    `${system} no longer accepts the page cursor. The next attempt starts from the beginning.`,
    {
      retryable: true,
      details: { reason: REASON },
    },
  );

export const isExpired = (error: unknown): error is AppError =>
  error instanceof AppError && error.details?.reason === REASON;

/**
 * Pages of an API, each requested once the previous one has been consumed. A repeated row, at a page boundary or after
 * the cursor expired, is returned once; one that changed in between is a different row. Throws `upstream` if the pages
 * never end.
 */
export async function* walkPages<PageRequest, Row = JsonObject>(
  walk: PageWalk<PageRequest, Row>,
): AsyncGenerator<Row[]> {
  const seen = new Set<string>();
  const recent = new Recent(walk);
  let request: PageRequest | null = walk.first;
  let yielded = 0;
  let sinceResume = 0;
  let hasLeapt = false;
  while (request !== null) {
    walk.signal.throwIfAborted();
    const key = JSON.stringify(request);
    if (seen.has(key)) {
      throw new AppError(
        "upstream",
        `${walk.system} named the same next page twice, so its list would never end.`,
      );
    }
    seen.add(key);
    const page: ApiPage<PageRequest, Row> | Again<PageRequest> = await readOrResume(
      walk,
      request,
      recent,
      seen,
    );
    if ("again" in page) {
      request = page.again;
      sinceResume = 0;
      continue;
    }
    sinceResume += page.rows.length;
    const rows = recent.take(page.rows);
    yielded += rows.length;
    if (rows.length > 0) yield rows;
    if (walk.maxRows !== null && yielded >= walk.maxRows) return;
    request = page.next;
    if (request !== null && walk.leap && recent.order !== null && !hasLeapt && yielded >= walk.leap.after) {
      hasLeapt = true;
      const leap = walk.leap.rows(recent.order);
      let next = await leap.next();
      for (; !next.done; next = await leap.next()) {
        const left = recent.unseen(next.value);
        if (left.length > 0) yield left;
      }
      const onward = next.value === null ? null : (walk.resume?.(next.value) ?? null);
      if (next.value !== null) recent.goOn(next.value);
      if (onward !== null) request = onward;
      sinceResume = 0;
    }
    if (request !== null && walk.resumeAfter !== undefined && sinceResume >= walk.resumeAfter) {
      const next = resumed(walk, recent);
      if (next !== null && !seen.has(JSON.stringify(next))) {
        request = next;
        sinceResume = 0;
      }
    }
  }
}

interface Again<PageRequest> {
  again: PageRequest;
}

/** Reads a page. If its cursor has expired, resumes after the last row, but never with the same request twice. */
async function readOrResume<PageRequest, Row>(
  walk: PageWalk<PageRequest, Row>,
  request: PageRequest,
  recent: Recent<PageRequest, Row>,
  seen: ReadonlySet<string>,
): Promise<ApiPage<PageRequest, Row> | Again<PageRequest>> {
  try {
    return await walk.read(request);
  } catch (error) {
    const again = isExpired(error) ? resumed(walk, recent) : null;
    if (again === null || seen.has(JSON.stringify(again))) throw error;
    return { again };
  }
}

const resumed = <PageRequest, Row>(
  { resume }: PageWalk<PageRequest, Row>,
  { order }: Recent<PageRequest, Row>,
): PageRequest | null => (order === null ? null : (resume?.(order) ?? null));

/** Rows that may be repeated: those of the last page, and those of the last order value. */
class Recent<PageRequest, Row> {
  order: string | null = null;
  #level = new Set<string>();
  #page = new Set<string>();

  constructor(readonly walk: PageWalk<PageRequest, Row>) {}

  /** Rows that weren't returned before. */
  take(rows: readonly Row[]): Row[] {
    const page = new Set<string>();
    const fresh = rows.filter((row) => {
      const key = this.walk.keyOf(row);
      if (key === null) return true;
      const isNew = !this.#page.has(key) && !this.#level.has(key) && !page.has(key);
      page.add(key);
      this.#note(row, key);
      return isNew;
    });
    if (rows.length > 0) this.#page = page;
    return fresh;
  }

  /** As `take`, but doesn't remember the rows. */
  unseen(rows: readonly Row[]): Row[] {
    return rows.filter((row) => {
      const key = this.walk.keyOf(row);
      return key === null || (!this.#page.has(key) && !this.#level.has(key));
    });
  }

  /** No earlier row is repeated from `order` on. */
  goOn(order: string): void {
    this.order = order;
    this.#level = new Set();
    this.#page = new Set();
  }

  #note(row: Row, key: string): void {
    const order = this.walk.orderOf?.(row) ?? null;
    if (order === null) return;
    if (order !== this.order) {
      this.order = order;
      this.#level = new Set();
    }
    this.#level.add(key);
  }
}
