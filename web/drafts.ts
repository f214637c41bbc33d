import { shown } from "./api.ts";

const PREFIX = "weir.draft:";

/** Drafts belong to a user and an organization: nobody else who uses the tab sees them. */
const prefix = () => `${PREFIX}${shown().user}:`;
const keyOf = (name: string) => `${prefix()}${shown().organization}:${name}`;

/** Returns what the user has typed but not sent. Null if nothing. */
export const readDraft = (name: string): string | null => sessionStorage.getItem(keyOf(name));

/** Keeps it in this tab until the user signs out, also after the session has ended. Null deletes it. */
export function keepDraft(name: string, text: string | null): void {
  if (text === null) sessionStorage.removeItem(keyOf(name));
  else sessionStorage.setItem(keyOf(name), text);
}

/** Deletes the drafts of all users but the one that this tab shows. */
export function forgetDraftsOfOthers(): void {
  for (const key of Object.keys(sessionStorage))
    if (key.startsWith(PREFIX) && !key.startsWith(prefix())) sessionStorage.removeItem(key);
}
