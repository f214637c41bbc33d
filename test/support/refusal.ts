/**
 * The message that a promise rejects with; throws where it does not. For what opens or writes a store: Bun's `rejects`
 * waits inside the callback that called it, and where that was a message of a store's thread, no other message of that
 * thread arrives meanwhile.
 */
export const refusalOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => {
      throw new Error("It was not refused.");
    },
    (error: Error) => error.message,
  );
