import type { App } from "../../context.ts";

/** How the last scheduled backup of this process ended; null where none has failed since one was made. */
const failures = new WeakMap<App["store"], string>();

/** The engine tells that a backup failed, or with null that one was made. */
export function tellBackup({ store }: App, failure: string | null): void {
  if (failure === null) failures.delete(store);
  else failures.set(store, failure);
}

/** Why the last scheduled backup failed; null where it did not. */
export const backupFailure = ({ store }: App): string | null => failures.get(store) ?? null;
