import type { KeyboardEvent } from "react";
import { shown } from "../../api.ts";
import { base } from "../../base.ts";
import { linkTo } from "../../linked.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { pageLost } from "../base/texts.ts";
import { notify } from "../base/toast.tsx";
import {
  addAfter,
  changeStep,
  connect,
  disconnect,
  insertAfter,
  insertBefore,
  insertOn,
  takeOut,
  unguarded,
} from "../canvas/commands.ts";
import { followersOf, linksOf, TRIGGER } from "../canvas/config.ts";
import { type Actions, branchesOf } from "../canvas/kinds.ts";
import { between, isByHand, type Layout } from "../canvas/layout.ts";
import type { CanvasEvents } from "../canvas/props.ts";
import { type StepValue, stepsIn } from "../canvas/steps-config.ts";
import type { Spot } from "../canvas/ui.ts";
import type { Values } from "../form/form.tsx";
import type { DraftStore } from "./draft.ts";

/** What the editor has open next to the canvas and the panel. */
export type Opened =
  | { readonly as: "add"; readonly spot: Spot }
  | { readonly as: "replace"; readonly key: string }
  | { readonly as: "test"; readonly end: string | null }
  | { readonly as: "edges"; readonly key: string }
  | { readonly as: "group"; readonly steps: ReadonlySet<string> }
  | { readonly as: "unguarded"; readonly steps: ReadonlySet<string>; readonly others: readonly StepValue[] }
  | { readonly as: "keys" | "versions" | "publish" | "discard" };

export interface Around {
  store: DraftStore;
  actions: Actions;
  nameOf: (key: string) => string;
  choose: (key: string | null, how?: { isOpened?: boolean; isRemoved?: boolean }) => void;
  show: (key: string) => void;
  open: (opened: Opened | null) => void;
  /** Result of a step in the shown run. Undefined if it has none. */
  resultOf: (key: string) => unknown;
  faulty: readonly string[];
  chosen: string | null;
  clipboard: {
    copy: (steps: readonly StepValue[]) => string;
    paste: (text: string, done: (steps: readonly StepValue[], unknown: readonly string[]) => void) => boolean;
  };
}

/** Where to add a step after another one: for a step with branches, on its first free branch. */
function onBranch(spot: Spot, steps: readonly StepValue[], actions: Actions): Spot {
  if (!("after" in spot) || spot.after.length !== 1) return spot;
  const [key = ""] = spot.after;
  const step = steps.find((each) => each.key === key);
  const used = steps.flatMap(({ dependsOn = [] }) => dependsOn);
  const free = step
    ? branchesOf(step, actions).find((branch) => !used.includes(`${key}:${branch}`))
    : undefined;
  return free === undefined ? spot : { ...spot, after: [`${key}:${free}`] };
}

/** Adds a step at a position. */
export function addAt(config: Values, step: StepValue, spot: Spot): Values {
  if ("before" in spot) return insertBefore(config, step, spot.before);
  if ("target" in spot) return insertOn(config, step, spot.source, spot.target);
  const [source] = spot.after;
  return spot.isInLine && spot.after.length === 1 && source !== undefined
    ? insertAfter(config, step, source)
    : addAfter(config, step, spot.after);
}

/** Removes steps, and focuses the step that follows, else the previous one. */
export function removeSteps(
  { store, choose, show, chosen, nameOf }: Around,
  keys: ReadonlySet<string>,
): void {
  const { config } = store.get().history;
  const links = linksOf(stepsIn(config));
  const next =
    links.find(({ source, target }) => keys.has(source) && !keys.has(target))?.target ??
    links.find(({ source, target }) => keys.has(target) && !keys.has(source))?.source;
  const [only = ""] = keys;
  const words = keys.size === 1 ? nameOf(only) : plural(keys.size, { one: "# step", other: "# steps" });
  store.edit({ label: t("Remove {words}", { words }), config: takeOut(config, keys) });
  if (chosen !== null && keys.has(chosen)) choose(null, { isRemoved: true });
  if (next !== undefined) show(next);
  notify(t("Removed {words}. Press Ctrl+Z to undo.", { words }));
}

const newId = () => crypto.getRandomValues(new Uint32Array(2)).join("");

/** Applies actions on the canvas to the draft. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of what each key and click does
export function canvasEvents(around: Around): CanvasEvents {
  const { store, actions, nameOf, choose, show, open, clipboard } = around;
  const config = () => store.get().history.config;
  const layout = () => store.get().history.layout;
  const steps = () => stepsIn(config());
  const putLayout = (label: string, change: Partial<Layout>) =>
    store.edit({ label, layout: { ...layout(), ...change } });
  const noteless = (positions: Readonly<Record<string, readonly [number, number]>>) =>
    Object.fromEntries(
      Object.entries(positions).flatMap(([id, [x, y]]) => (id.startsWith("note:") ? [] : [[id, [x, y]]])),
    );

  /** Adds copies of steps and selects the first. The parser of their expressions is loaded separately. */
  const addCopies = (
    copies: readonly StepValue[],
    after: readonly string[],
    label: string,
    done?: () => void,
  ) =>
    void import("../canvas/copies.ts").then(
      (module) => {
        const { config: next, keys } = module.addCopies(config(), copies, after);
        store.edit({ label, config: next });
        choose(keys[0] ?? null);
        if (keys[0]) show(keys[0]);
        done?.();
      },
      () => notify(pageLost(), "bad"),
    );

  return {
    ...layoutEvents(around, putLayout),
    onChoose: (key) => choose(key),
    open: (key) => choose(key, { isOpened: true }),
    onAdd: (spot) => open({ as: "add", spot: onBranch(spot, steps(), actions) }),
    onConnect: (source, target) =>
      store.edit({
        label: t("Connect to {name}", { name: nameOf(target) }),
        config: connect(config(), source, target),
      }),
    onDisconnect: (source, target) =>
      store.edit({
        label: t("Disconnect {name}", { name: nameOf(target) }),
        config: disconnect(config(), source, target),
      }),
    onMove(positions, moved) {
      const areNotes = [...moved].every((id) => id.startsWith("note:"));
      const notes = layout().notes.map((note) => {
        const [x, y] = positions[`note:${note.id}`] ?? [];
        if (x === undefined || y === undefined || !moved.has(`note:${note.id}`)) return note;
        const [left = 0, top = 0] = (note.near && positions[note.near]) || [];
        return { ...note, x: x - left, y: y - top };
      });
      putLayout(t("Move"), areNotes ? { notes } : { positions: noteless(positions), notes });
    },
    onUndo() {
      if (!store.undo()) notify(t("Someone else has changed this step since. Nothing was undone."), "bad");
    },
    onRedo() {
      if (!store.redo()) notify(t("Someone else has changed this step since. Nothing was redone."), "bad");
    },
    onHelp: () => open({ as: "keys" }),
    onVersions: () => open({ as: "versions" }),
    onNextFault(by) {
      const { faulty, chosen } = around;
      if (faulty.length === 0) return notify(t("No faults"));
      const at = chosen === null ? -1 : faulty.indexOf(chosen);
      const next = faulty[(at + by + faulty.length) % faulty.length];
      if (next === undefined) return;
      choose(next);
      show(next);
    },
    copy(keys) {
      const own = steps().filter(({ key }) => keys.has(key));
      return own.length === 0 ? null : clipboard.copy(own);
    },
    paste(text, onto) {
      return clipboard.paste(text, (pasted, unknown) => {
        const after = onto === null || onto === TRIGGER ? [] : [onto];
        const count = pasted.length;
        addCopies(pasted, after, plural(count, { one: "Paste # step", other: "Paste # steps" }), () => {
          const words = plural(count, { one: "Pasted # step", other: "Pasted # steps" });
          notify(
            unknown.length > 0
              ? `${words}. ${t("Not found here: {names}.", { names: unknown.join(", ") })}`
              : words,
            unknown.length > 0 ? "bad" : "good",
          );
        });
      });
    },
    duplicate(keys) {
      const own = steps().filter(({ key }) => keys.has(key));
      const parents = own.flatMap(({ dependsOn = [] }) =>
        dependsOn.filter((text) => !keys.has(text.split(":")[0] ?? "")),
      );
      const label = plural(own.length, { one: "Duplicate # step", other: "Duplicate # steps" });
      addCopies(own, [...new Set(parents)], label);
    },
    edges: (key) => open({ as: "edges", key }),
    remove(keys) {
      const others = unguarded(config(), keys);
      if (others.length > 0) open({ as: "unguarded", steps: keys, others });
      else removeSteps(around, keys);
    },
    rename: (key) => choose(key, { isOpened: true }),
    runTo: (key) => open({ as: "test", end: key }),
    pin(key) {
      const step = steps().find((each) => each.key === key);
      const result = around.resultOf(key);
      if (!step) return;
      if (step.pinned === undefined && (result === undefined || result === null))
        return notify(t("No result to pin. Run to this step first."), "bad");
      const { pinned, ...rest } = step;
      store.edit({
        label:
          pinned === undefined
            ? t("Pin result of {name}", { name: nameOf(key) })
            : t("Unpin result of {name}", { name: nameOf(key) }),
        config: changeStep(
          config(),
          key,
          (pinned === undefined ? { ...rest, pinned: result } : rest) as StepValue,
        ),
      });
    },
    openCalled(key) {
      const step = steps().find((each) => each.key === key);
      const { automationId, slug } = (step?.definition ?? {}) as Record<string, unknown>;
      if (typeof automationId !== "string" && typeof slug !== "string")
        return notify(t("This step calls no automation"), "bad");
      const path =
        typeof automationId === "string"
          ? `/${encodeURIComponent(automationId)}`
          : `?q=${encodeURIComponent(String(slug))}`;
      const { organization } = shown();
      const url = `${base}/automations${path}`;
      window.open(organization === null ? url : linkTo(url, organization), "_blank", "noopener");
    },
  };
}

type PutLayout = (label: string, change: Partial<Layout>) => void;

/** Groups, notes and tidying up, which are stored next to the config. */
function layoutEvents({ store, open }: Around, put: PutLayout) {
  const layout = () => store.get().history.layout;
  return {
    onTidy() {
      if (!isByHand(layout())) return notify(t("The steps are arranged already"));
      put(t("Tidy up"), { positions: {} });
      notify(t("Arranged. Press Ctrl+Z to undo."));
    },
    // Stored positions belong to the other direction.
    onTurn: (direction: Layout["direction"]) => put(t("Change direction"), { direction, positions: {} }),
    group(keys: ReadonlySet<string>) {
      const own = layout().groups.find(({ steps }) => [...keys].every((key) => steps.includes(key)));
      if (own)
        return put(t("Collapse group"), {
          groups: layout().groups.map((each) => (each === own ? { ...each, isCollapsed: true } : each)),
        });
      if (keys.size < 2) return notify(t("Select two or more steps to group them"), "bad");
      const other = between(followersOf(stepsIn(store.get().history.config)), keys);
      if (other !== null)
        return notify(t("{step} is between these steps. Select it too.", { step: other }), "bad");
      open({ as: "group", steps: keys });
    },
    expand: (id: string) =>
      put(t("Collapse or expand group"), {
        groups: layout().groups.map((each) =>
          each.id === id ? { ...each, isCollapsed: each.isCollapsed !== true } : each,
        ),
      }),
    ungroup: (id: string) => put(t("Ungroup"), { groups: layout().groups.filter((each) => each.id !== id) }),
    note(key: string) {
      const id = newId();
      put(t("Add note"), { notes: [...layout().notes, { id, text: "", near: key }] });
      requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-note="${id}"]`)?.focus());
    },
    writeNote: (id: string, text: string) =>
      put(t("Write note"), {
        notes: layout().notes.map((each) => (each.id === id ? { ...each, text } : each)),
      }),
    removeNote: (id: string) =>
      put(t("Remove note"), { notes: layout().notes.filter((each) => each.id !== id) }),
  };
}

/** Creates a collapsed group of these steps. */
export const grouped = (layout: Layout, title: string, steps: ReadonlySet<string>): Layout => ({
  ...layout,
  groups: [
    ...layout.groups.map((group) => ({ ...group, steps: group.steps.filter((key) => !steps.has(key)) })),
    { id: newId(), title, steps: [...steps], isCollapsed: true },
  ].filter((group) => group.steps.length > 1),
});

interface EditorKeys {
  store: DraftStore;
  on: Pick<CanvasEvents, "onUndo" | "onRedo" | "onHelp">;
  open: (opened: Opened) => void;
  onPublish: () => void;
  mayChange: boolean;
}

/**
 * Shortcuts of the whole editor. Returns true if this was one.
 * In a text field, keys that edit text are left to the field.
 */
export function onEditorKey(
  event: KeyboardEvent,
  { store, on, open, onPublish, mayChange }: EditorKeys,
): boolean {
  const isHeld = event.ctrlKey || event.metaKey;
  const isField = (event.target as HTMLElement).closest("input, textarea, select, [data-editor]") !== null;
  const key = event.key.toLowerCase();
  if (key === "?" && !isField && !isHeld) on.onHelp();
  else if (!isHeld || !mayChange) return false;
  else if (key === "s") void store.save();
  else if (key === "enter" && event.shiftKey) onPublish();
  else if (key === "enter") open({ as: "test", end: null });
  else if (key === "z" && !isField) event.shiftKey ? on.onRedo() : on.onUndo();
  else return false;
  return true;
}
