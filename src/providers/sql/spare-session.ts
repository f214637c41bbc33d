/** A connection that can run several transactions in sequence. */
interface Reusable {
  begin(): Promise<void>;
  commit(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps one connection between consecutive extracts, outside a transaction so that it holds no locks. */
export class SpareSession<Session extends Reusable> {
  #spare: Session | null = null;

  /** The kept connection in a new transaction; null if there is none or the server has closed it. */
  async take(): Promise<Session | null> {
    const session = this.#spare;
    this.#spare = null;
    if (!session) return null;
    return session.begin().then(
      () => session,
      async () => {
        await session.close();
        return null;
      },
    );
  }

  /** Keeps a session without a pending transaction; closes one that can't be kept. */
  async give(session: Session): Promise<void> {
    if (this.#spare) return session.close();
    await session.commit().then(
      () => {
        this.#spare = session;
      },
      () => session.close(),
    );
  }

  async close(): Promise<void> {
    const session = this.#spare;
    this.#spare = null;
    await session?.close();
  }
}
