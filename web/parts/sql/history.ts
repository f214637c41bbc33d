import { useState } from "react";
import { useMe } from "../../data.ts";
import { ofBrowser } from "../../storage.ts";

export interface Past {
  sql: string;
  at: string;
}

const PREFIX = "weir.sql.history:";
const MAX_KEPT = 100;
/** Longer statements aren't stored. */
const MAX_CHARACTERS = 20_000;

const read = (key: string): Past[] => JSON.parse(ofBrowser.get(key) ?? "[]") as Past[];

/** The statements that the user ran in this browser, newest first. */
export function useHistory() {
  const { user, current } = useMe();
  const key = user && current ? `${PREFIX}${user.id}:${current.organization.id}` : null;
  const [, redraw] = useState(0);
  return {
    past: key === null ? [] : read(key),
    add(sql: string) {
      if (key === null || sql.length > MAX_CHARACTERS) return;
      const others = read(key).filter((each) => each.sql !== sql);
      const past = [{ sql, at: new Date().toISOString() }, ...others].slice(0, MAX_KEPT);
      ofBrowser.set(key, JSON.stringify(past));
      redraw((count) => count + 1);
    },
    clear() {
      if (key !== null) ofBrowser.set(key, null);
      redraw((count) => count + 1);
    },
  };
}

/** Deletes all statements from this browser. */
export function forgetHistory(): void {
  ofBrowser.deleteAll((key) => key.startsWith(PREFIX));
}
