import { shown } from "./api.ts";
import { notify } from "./parts/base/toast.tsx";
import { t } from "./texts/text.ts";

const PREFIX = "weir.draft:";
/** Keys of earlier versions, for any user. */
const OLD = /^weir\.(sql\.tabs$|draft\.|run-input\.)/;

/** Whether the user knows that drafts can't be kept. */
let isFull = false;

/** Drafts belong to a user and an organization: nobody else who uses the tab sees them. */
const prefix = () => `${PREFIX}${shown().user}:`;
const keyOf = (name: string) => `${prefix()}${shown().organization}:${name}`;

/** Returns what the user has typed but not sent. Null if nothing. */
export const readDraft = (name: string): string | null => sessionStorage.getItem(keyOf(name));

/** Keeps it in this tab until the user signs out, also after the session has ended. Null deletes it. */
export function keepDraft(name: string, text: string | null): void {
  if (text === null) return sessionStorage.removeItem(keyOf(name));
  try {
    sessionStorage.setItem(keyOf(name), text);
  } catch {
    if (!isFull) notify(t("The browser's storage is full. What you type is lost when you leave."), "bad");
    isFull = true;
  }
}

/** Deletes all drafts but those of the user that this tab shows. */
export function forgetDraftsOfOthers(): void {
  for (const key of Object.keys(sessionStorage))
    if (OLD.test(key) || (key.startsWith(PREFIX) && !key.startsWith(prefix())))
      sessionStorage.removeItem(key);
}
