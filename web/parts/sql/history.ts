import { useState } from "react";
import { useMe } from "../../data.ts";

export interface Past {
  sql: string;
  at: string;
}

const PREFIX = "weir.sql.history:";
const MAX_KEPT = 100;
/** Longer statements aren't stored. */
const MAX_CHARACTERS = 20_000;

const read = (key: string): Past[] => JSON.parse(localStorage.getItem(key) ?? "[]") as Past[];

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
      localStorage.setItem(key, JSON.stringify(past));
      redraw((count) => count + 1);
    },
    clear() {
      if (key !== null) localStorage.removeItem(key);
      redraw((count) => count + 1);
    },
  };
}

/** Deletes all statements from this browser. */
export function forgetHistory(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}
