/** An iterator whose first item can be read without consuming it. */
export class Peekable<T> implements AsyncIterable<T> {
  readonly #source: AsyncIterator<T>;
  #first: Promise<IteratorResult<T>> | null = null;

  constructor(source: AsyncIterable<T>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async peek(): Promise<void> {
    this.#first ??= this.#source.next();
    await this.#first;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (let item = await this.#next(); !item.done; item = await this.#source.next()) yield item.value;
    } finally {
      await this.#source.return?.();
    }
  }

  #next(): Promise<IteratorResult<T>> {
    return this.#first ?? this.#source.next();
  }
}
