/**
 * Yields the pages. The next one is requested while one is being processed. If the consumer stops early, waits for
 * the page that was already requested.
 */
export async function* ahead<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = pages[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (let page = await next; !page.done; page = await next) {
      next = iterator.next();
      next.catch(() => undefined); // thrown when it is its turn
      yield page.value;
    }
  } finally {
    await iterator.return?.();
  }
}
