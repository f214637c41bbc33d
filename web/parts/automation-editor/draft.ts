import { ApiError, CHANGED, call } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { inSteps } from "../canvas/config.ts";
import { commit, type Edit, type History, openHistory, rebase, redo, undo } from "../canvas/history.ts";
import { keepLayout, type Layout } from "../canvas/layout.ts";
import { type Conflict, diff, isEmpty, merge, takeTheirs } from "../canvas/patch.ts";
import { stepsIn } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";
import { type Faults, faultsBySteps, NO_FAULTS, stillFaults } from "./faults.ts";
import { readDraft, type StoredDraft } from "./read-draft.ts";

/** Delay between the last change and saving the draft. */
const QUIET_MS = 2000;
const LAYOUT_MS = 1000;
const RETRY_MS = 5000;
const MOST_MERGES = 3;

export interface DraftState {
  readonly history: History;
  /** The server's config: of the draft, otherwise the published one. */
  readonly base: Values;
  /** The published config. */
  readonly active: Values;
  readonly draft: StoredDraft | null;
  readonly saving: "saved" | "changed" | "saving" | "failed";
  /** Why saving failed. */
  readonly problem: string | null;
  readonly faults: Faults;
  /** Conflicts to resolve before anything else is saved. */
  readonly conflicts: readonly Conflict[];
  /** What others have changed since it was opened, as text. */
  readonly others: string | null;
}

/** The config in the editor's form: as steps, and without fields that the server adds but doesn't accept. */
export const configOf = ({ config }: Pick<Automation, "config">): Values => {
  const { secret: _, ...rest } = config as Values;
  return inSteps(rest);
};

/** Body of a change: the differences, with null for removed fields. */
function changeBetween(before: Values, after: Values): Values {
  const { steps, fields } = diff(before, after, "");
  return {
    ...Object.fromEntries([...fields].map(([name, { to }]) => [name, to === undefined ? null : to])),
    ...(steps.size > 0 ? { steps: stepsIn(after) } : {}),
  };
}

const is = (error: unknown, status: number): error is ApiError =>
  error instanceof ApiError && error.status === status;

interface Start {
  automation: Automation;
  draft: StoredDraft | null;
  layout: Layout;
}

/** Describes another user's changes. */
export function changesInWords(before: Values, after: Values): string {
  const { steps, fields } = diff(before, after, "");
  return [
    ...(steps.size > 0 ? [plural(steps.size, { one: "# step", other: "# steps" })] : []),
    ...(fields.size > 0 ? [plural(fields.size, { one: "# setting", other: "# settings" })] : []),
  ].join(` ${t("and")} `);
}

/** A draft in the editor: its changes, and how they are saved. No user's change overwrites another's. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the draft and its history
export function openDraft({ automation, draft, layout }: Start) {
  const path = { automation_id: automation.id };
  const active = configOf(automation);
  const base = draft ? configOf(draft) : active;
  let state: DraftState = {
    history: openHistory(base, layout),
    base,
    active,
    draft,
    saving: "saved",
    problem: null,
    faults: NO_FAULTS,
    conflicts: [],
    others: null,
  };
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let layoutTimer: ReturnType<typeof setTimeout> | undefined;
  let inFlight: Promise<void> | null = null;
  let storedLayout = layout;
  let isClosed = false;

  const set = (change: Partial<DraftState>) => {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  };
  const isChanged = () => !isEmpty(diff(state.base, state.history.config, ""));

  const later = (ms: number) => {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => void save(), ms);
  };

  const put = (history: History) => {
    if (history === state.history) return;
    const faults = stillFaults(state.faults, state.history.config, history.config);
    const isMoved = history.layout !== state.history.layout;
    set({ history, faults });
    if (isMoved) {
      clearTimeout(layoutTimer);
      layoutTimer = setTimeout(() => void saveLayout(), LAYOUT_MS);
    }
    if (isChanged()) {
      set({ saving: "changed" });
      later(QUIET_MS);
    } else if (inFlight === null) set({ saving: "saved", problem: null });
  };

  /** Rebases the user's own changes on the server's state. */
  const takeIn = (theirs: Values, stored: StoredDraft | null, isTold: boolean) => {
    const words = changesInWords(state.base, theirs);
    const { config, conflicts } = merge(state.base, theirs, state.history.config);
    set({
      history: rebase(state.history, config),
      base: theirs,
      draft: stored,
      conflicts: [...state.conflicts, ...conflicts],
      ...(words !== "" && isTold ? { others: t("Someone else changed {words}.", { words }) } : {}),
    });
  };

  /** Reads the current draft, or without one the published config. */
  const readAgain = async () => {
    const stored = await readDraft(automation.id);
    if (stored) return takeIn(configOf(stored), stored, true);
    const now = await call("GET /api/v1/automations/{automation_id}", { path });
    const config = configOf(now);
    set({ active: config });
    takeIn(config, null, true);
  };

  const send = async (merges = 0): Promise<void> => {
    // Two users may start a draft at the same time. The second one must see the first one's.
    if (state.draft === null && (await readDraft(automation.id))) await readAgain();
    if (state.conflicts.length > 0 || !isChanged()) return;
    const mine = state.history.config;
    try {
      const stored = await call(
        "PATCH /api/v1/automations/{automation_id}/draft",
        { path, body: { config: changeBetween(state.base, mine) as never } },
        { basedOn: state.draft },
      );
      set({ base: mine, draft: stored, problem: null });
    } catch (error) {
      const isOther = error instanceof ApiError && (error.code === CHANGED || error.status === 404);
      if (!isOther || merges >= MOST_MERGES) throw error;
      await readAgain();
      await send(merges + 1);
    }
  };

  const fail = (error: unknown, sent: Values) => {
    const isRefused = is(error, 422);
    set({
      saving: "failed",
      problem: error instanceof Error ? error.message : String(error),
      ...(isRefused ? { faults: faultsBySteps(error.faults, sent) } : {}),
    });
    if (!isRefused) later(RETRY_MS);
  };

  async function save(): Promise<void> {
    clearTimeout(timer);
    if (inFlight) await inFlight;
    if (!isChanged() || state.conflicts.length > 0) {
      if (state.conflicts.length === 0) set({ saving: "saved", problem: null });
      return;
    }
    set({ saving: "saving" });
    const sent = state.history.config;
    inFlight = send().catch((error: unknown) => fail(error, sent));
    await inFlight;
    inFlight = null;
    if (state.saving === "saving") set({ saving: isChanged() ? "changed" : "saved" });
    if (state.saving === "changed") later(QUIET_MS);
  }

  async function saveLayout(): Promise<void> {
    clearTimeout(layoutTimer);
    const mine = keepLayout(state.history.layout, stepsIn(state.history.config));
    if (state.history.layout === storedLayout) return;
    storedLayout = state.history.layout;
    const send = (body: Layout) => call("PUT /api/v1/automations/{automation_id}/layout", { path, body });
    try {
      await send(mine);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== CHANGED)
        return set({ problem: error instanceof Error ? error.message : String(error) });
      // The last user who moves a step wins. Other steps keep the other user's positions.
      const theirs = await call("GET /api/v1/automations/{automation_id}/layout", { path });
      await send({ ...mine, positions: { ...theirs.positions, ...mine.positions } });
    }
  }

  return {
    get: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isChanged,
    edit: (edit: Edit) => put(commit(state.history, edit)),
    /** Returns false if another user's change conflicts. */
    undo() {
      const history = undo(state.history);
      if (history) put(history);
      return history !== null;
    },
    redo() {
      const history = redo(state.history);
      if (history) put(history);
      return history !== null;
    },
    save,
    saveLayout,
    setFaults: (faults: Faults) => set({ faults }),
    hearOthers: () => set({ others: null }),
    /** Checks whether another user has saved in the meantime. */
    async look() {
      if (inFlight || isClosed) return;
      const stored = await readDraft(automation.id);
      if (inFlight || stored?.updatedAt === state.draft?.updatedAt) return;
      await readAgain();
      if (isChanged()) later(QUIET_MS);
    },
    /** The published config has changed. Without a draft, that is what is edited. */
    takeActive(now: Automation) {
      const config = configOf(now);
      if (isEmpty(diff(state.active, config, ""))) return;
      const isTheBase = state.draft === null && !inFlight;
      set({ active: config });
      if (isTheBase) takeIn(config, null, true);
    },
    resolve(choices: ReadonlyMap<Conflict, "mine" | "theirs">) {
      let config = state.history.config;
      for (const conflict of state.conflicts)
        if (choices.get(conflict) === "theirs") config = takeTheirs(config, conflict);
      set({ conflicts: [] });
      put(rebase(state.history, config));
      void save();
    },
    /** Merges what was published since the draft was started. */
    async rebaseOn(version: number, before: Values, now: Values) {
      const { config, conflicts } = merge(before, now, state.history.config);
      set({ active: now, conflicts });
      const stored = await call(
        "PATCH /api/v1/automations/{automation_id}/draft",
        { path, body: { config: changeBetween(state.base, config) as never, basedOn: version } },
        { basedOn: state.draft },
      );
      set({ history: rebase(state.history, config), base: config, draft: stored });
    },
    published(now: Automation) {
      const config = configOf(now);
      const { config: merged } = merge(state.base, config, state.history.config);
      set({
        active: config,
        base: config,
        draft: null,
        history: rebase(state.history, merged),
        faults: NO_FAULTS,
        others: null,
        problem: null,
      });
    },
    /** Changes that weren't published stay in the draft. */
    async publishedPart(now: Automation) {
      set({ active: configOf(now), faults: NO_FAULTS, others: null, problem: null });
      const stored = await readDraft(automation.id);
      takeIn(configOf(stored ?? now), stored, false);
    },
    /** An earlier version was restored, and becomes the edited one. */
    restored(now: Automation) {
      const config = configOf(now);
      set({ active: config, base: config, draft: null, faults: NO_FAULTS, others: null, problem: null });
      put(commit(state.history, { label: t("Restore version"), config }));
      set({ saving: "saved" });
    },
    async discard() {
      clearTimeout(timer);
      if (inFlight) await inFlight;
      if (state.draft)
        await call("DELETE /api/v1/automations/{automation_id}/draft", { path }, { basedOn: state.draft });
      set({ base: state.active, draft: null, conflicts: [], faults: NO_FAULTS, problem: null });
      put(commit(state.history, { label: t("Discard draft"), config: state.active }));
      set({ saving: "saved" });
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      void save();
      void saveLayout();
    },
  };
}
export type DraftStore = ReturnType<typeof openDraft>;
