import { ApiError, call, chooseOrganization, shown } from "./api.ts";
import { base } from "./base.ts";
import { client } from "./data.ts";
import { notify } from "./parts/base/toast.tsx";
import { forgetHistory } from "./parts/sql/history.ts";
import { ofTab } from "./storage.ts";

/** Says to the other tabs of this browser who has signed out. */
const CHANNEL = "weir.signed-out";

const forgetDrafts = () => ofTab.deleteAll(() => true);

/** Deletes the user's drafts and statements from the browser, tells its other tabs, and opens the sign-in page. */
export function leaveNothing(): void {
  new BroadcastChannel(CHANNEL).postMessage(shown().user);
  chooseOrganization(null);
  forgetDrafts();
  forgetHistory();
  client.clear();
  location.assign(`${base}/login`);
}

export async function signOut(): Promise<void> {
  try {
    await call("POST /api/v1/auth/logout", {});
  } catch (error) {
    // Without a session, there is nothing to end.
    if (error instanceof ApiError && error.status !== 401) return notify(error.message, "bad");
  }
  leaveNothing();
}

/**
 * Deletes the drafts of this tab once its user has signed out in another, and then calls `listener`. Returns a function
 * that stops it.
 */
export function whenSignedOutElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    if (data !== shown().user) return;
    forgetDrafts();
    listener();
  };
  return () => channel.close();
}
