import { createContext, useContext, useSyncExternalStore } from "react";

/** State of the canvas apart from the document. */
interface Ui {
  /** The only step that Tab reaches. */
  tabStop: string;
  /** Start of the edge that is being drawn by keyboard, as in `dependsOn`. */
  from: string | null;
  /** The edge under the pointer. */
  hovered: string | null;
  /** Steps that the search has found. Null without a search. */
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

/** Where to add a new step. */
export type Spot =
  | {
      readonly after: readonly string[];
      /** True if the followers then follow the new step. */
      readonly isInLine?: boolean;
      readonly at?: readonly [number, number];
    }
  | { readonly before: string }
  | { readonly source: string; readonly target: string };

/** Actions that cards and edges can trigger. The same object as long as the canvas is mounted. */
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
