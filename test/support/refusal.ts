/**
 * The message that a promise rejects with. Throws if it doesn't. For code that opens or writes a store:
 * Bun's `rejects` waits inside the callback that called it, and if that was a message of a store's thread,
 * no other message of that thread arrives in the meantime.
 */
export const refusalOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => {
      throw new Error("It was not refused.");
    },
    (error: Error) => error.message,
  );
