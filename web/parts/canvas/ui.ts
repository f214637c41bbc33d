import { createContext, useContext, useSyncExternalStore } from "react";

/** State of the canvas apart from the document. */
interface Ui {
  /** The one step that Tab reaches. */
  tabStop: string;
  /** An edge is being drawn from here by keyboard, as `dependsOn` has it. */
  from: string | null;
  /** The edge under the pointer. */
  hovered: string | null;
  /** Steps that a search has found; null without a search. */
  found: ReadonlySet<string> | null;
}

export function createUi(tabStop: string) {
  let state: Ui = { tabStop, from: null, hovered: null, found: null };
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    set(change: Partial<Ui>) {
      state = { ...state, ...change };
      for (const listener of listeners) listener();
    },
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
export type UiStore = ReturnType<typeof createUi>;

export const UiContext = createContext<UiStore>(createUi(""));

/** Renders a component again only if its selected state has changed. */
export function useUi<T>(pick: (ui: Ui) => T): T {
  const ui = useContext(UiContext);
  return useSyncExternalStore(ui.subscribe, () => pick(ui.get()));
}

/** Where a new step is to go. */
export type Spot =
  | {
      readonly after: readonly string[];
      /** What followed comes after the new step instead. */
      readonly isInLine?: boolean;
      readonly at?: readonly [number, number];
    }
  | { readonly before: string }
  | { readonly source: string; readonly target: string };

/** What cards and edges can ask for by themselves; the same object for as long as the canvas stands. */
export interface CanvasActions {
  choose(key: string): void;
  add(spot: Spot): void;
  disconnect(source: string, target: string): void;
  expand(groupId: string): void;
  ungroup(groupId: string): void;
  writeNote(id: string, text: string): void;
  removeNote(id: string): void;
}
const nothing = () => undefined;
export const ActionsContext = createContext<CanvasActions>({
  choose: nothing,
  add: nothing,
  disconnect: nothing,
  expand: nothing,
  ungroup: nothing,
  writeNote: nothing,
  removeNote: nothing,
});
