import type { Values } from "../form/form.tsx";
import type { Layout } from "./layout.ts";
import { apply, type Change, diff, invert, isEmpty, type Patch } from "./patch.ts";

const MOST_UNDO = 200;
const TYPING_MS = 1000;

interface Entry extends Patch {
  /** Positions of the steps, if they changed too. */
  readonly layout?: Change<Layout>;
}

/** The canvas's config and layout, with undo. */
export interface History {
  readonly config: Values;
  readonly layout: Layout;
  readonly past: readonly Entry[];
  readonly future: readonly Entry[];
  /** What the last entry belongs to, such as a field of a form, and its time: continued typing is one entry. */
  readonly last: { readonly scope: string; readonly at: number } | null;
}

export const openHistory = (config: Values, layout: Layout): History => ({
  config,
  layout,
  past: [],
  future: [],
  last: null,
});

export interface Edit {
  label: string;
  config?: Values;
  layout?: Layout;
  scope?: string;
  at?: number;
}

export function commit(history: History, { label, scope, at = Date.now(), ...next }: Edit): History {
  const { config = history.config, layout = history.layout } = next;
  const patch = diff(history.config, config, label);
  if (isEmpty(patch) && layout === history.layout) return history;
  const moved = layout === history.layout ? {} : { layout: { from: history.layout, to: layout } };
  const last = history.past.at(-1);
  const goesOn =
    last !== undefined &&
    scope !== undefined &&
    history.last?.scope === scope &&
    at - history.last.at < TYPING_MS;
  // Continued typing: from the state before the first keystroke to now.
  const whole: Entry = goesOn
    ? { ...last, ...diff(apply(history.config, invert(last)).config, config, last.label) }
    : { ...patch, ...moved };
  const earlier = goesOn ? history.past.slice(0, -1) : history.past;
  const isNothing = isEmpty(whole) && whole.layout === undefined;
  return {
    config,
    layout,
    past: (isNothing ? earlier : [...earlier, whole]).slice(-MOST_UNDO),
    future: [],
    last: scope === undefined ? null : { scope, at },
  };
}

/** Null if another user's change conflicts. Then nothing is undone. */
export function undo(history: History): History | null {
  const entry = history.past.at(-1);
  if (!entry) return history;
  const { config, conflicts } = apply(history.config, invert(entry));
  if (conflicts.length > 0) return null;
  return {
    config,
    layout: entry.layout?.from ?? history.layout,
    past: history.past.slice(0, -1),
    future: [...history.future, entry],
    last: null,
  };
}

/** Null if another user's change conflicts. */
export function redo(history: History): History | null {
  const entry = history.future.at(-1);
  if (!entry) return history;
  const { config, conflicts } = apply(history.config, entry);
  if (conflicts.length > 0) return null;
  return {
    config,
    layout: entry.layout?.to ?? history.layout,
    past: [...history.past, entry],
    future: history.future.slice(0, -1),
    last: null,
  };
}

/** Rebases the user's own changes on what others saved. Undo still reverts only the user's own. */
export const rebase = (history: History, merged: Values): History => ({
  ...history,
  config: merged,
  last: null,
});
