import { shown } from "./api.ts";
import { ofTab } from "./storage.ts";

const PREFIX = "weir.draft:";
/** Keys of earlier versions, for any user. */
const OLD = /^weir\.(sql\.tabs$|draft\.|run-input\.)/;

/** Drafts belong to a user and an organization: nobody else who uses the tab sees them. */
const prefix = () => `${PREFIX}${shown().user}:`;
const keyOf = (name: string) => `${prefix()}${shown().organization}:${name}`;

/** Returns what the user has typed but not sent. Null if nothing. */
export const readDraft = (name: string): string | null => ofTab.get(keyOf(name));

/** Keeps it in this tab until the user signs out, also after the session has ended. Null deletes it. */
export const keepDraft = (name: string, text: string | null) => ofTab.set(keyOf(name), text);

/** Deletes all drafts but those of the user that this tab shows. */
export const forgetDraftsOfOthers = () =>
  ofTab.deleteAll((key) => OLD.test(key) || (key.startsWith(PREFIX) && !key.startsWith(prefix())));
