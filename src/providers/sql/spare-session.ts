/** A connection on which one transaction can follow another. */
interface Reusable {
  begin(): Promise<void>;
  commit(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps one connection between extracts that follow each other, outside of a transaction so that it holds nothing up. */
export class SpareSession<Session extends Reusable> {
  #spare: Session | null = null;

  /** In a new transaction; null where none is kept, or the server has ended it meanwhile. */
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

  /** Takes a session with nothing under way; one that can't be kept is closed. */
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
