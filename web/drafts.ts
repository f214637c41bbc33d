import { shown } from "./api.ts";
import { notify } from "./parts/base/toast.tsx";
import { hasUnsaved } from "./parts/base/unsaved.tsx";
import { ofTab } from "./storage.ts";
import { t } from "./texts/text.ts";

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

/** The users whose drafts are kept although someone else has signed in in another tab. */
const OWNERS = "weir.draft-owners";
const otherOwners = () =>
  (ofTab.get(OWNERS) ?? "").split(" ").filter((id) => id !== "" && id !== shown().user);

/** Shown after the reload. */
const NOTICE = "weir.notice";

/** Keeps the drafts of the user that this tab shows. Someone else has signed in in another tab. */
export function leaveDrafts(): void {
  if (ofTab.get(NOTICE) !== null) return;
  ofTab.set(OWNERS, [...otherOwners(), shown().user].join(" "));
  const texts = [
    t("Someone else has signed in in this browser."),
    t("Drafts in this tab are kept until their author signs in again."),
    hasUnsaved() ? t("Changes that weren't saved in forms are lost.") : "",
  ];
  ofTab.set(NOTICE, texts.join(" ").trim());
}

/** Deletes all drafts but those of the user that this tab shows, and those that were left. */
export function forgetDraftsOfOthers(): void {
  const notice = ofTab.get(NOTICE);
  if (notice !== null) notify(notice, "bad");
  ofTab.set(NOTICE, null);
  const owners = otherOwners();
  ofTab.set(OWNERS, owners.join(" ") || null);
  const kept = [prefix(), ...owners.map((id) => `${PREFIX}${id}:`)];
  ofTab.deleteAll(
    (key) => OLD.test(key) || (key.startsWith(PREFIX) && !kept.some((each) => key.startsWith(each))),
  );
}
