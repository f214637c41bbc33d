/**
 * The pages; while one is being worked on the next one is asked for. Who leaves before the end waits for the one
 * that was asked for in vain.
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
