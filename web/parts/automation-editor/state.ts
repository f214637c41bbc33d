import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useSearch } from "wouter";
import { call } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { refresh } from "../../data.ts";
import { onEvent } from "../../live.ts";
import { t } from "../../texts/text.ts";
import { showProblem } from "../base/problem.ts";
import { notify } from "../base/toast.tsx";
import { TRIGGER, unsound } from "../canvas/config.ts";
import type { Layout } from "../canvas/layout.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import { type DraftState, type DraftStore, openDraft } from "./draft.ts";
import type { Opened } from "./events.ts";
import type { PanelTab } from "./panel.tsx";
import { publish } from "./publish.ts";
import type { StoredDraft } from "./read-draft.ts";

export interface EditorProps {
  automation: Automation;
  draft: StoredDraft | null;
  layout: Layout;
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const LOOK_MS = 10_000;
const TABS: readonly PanelTab[] = ["input", "settings", "output"];

/** The selected step and tab are in the URL, so that a reload or a link restores them. */
function useAddress() {
  const search = new URLSearchParams(useSearch());
  const tabName = search.get("tab") as PanelTab;
  const put = useCallback((change: Record<string, string | null>) => {
    const next = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    const text = next.toString();
    history.replaceState(history.state, "", `${location.pathname}${text === "" ? "" : `?${text}`}`);
  }, []);
  return { step: search.get("step"), tab: TABS.includes(tabName) ? tabName : ("settings" as PanelTab), put };
}

/** The draft, synchronized with the server while the editor is open. */
export function useDraft({ automation, draft, layout }: EditorProps) {
  const kept = useRef<DraftStore>(null);
  kept.current ??= openDraft({ automation, draft, layout });
  const store = kept.current;
  const state = useSyncExternalStore(store.subscribe, store.get);
  const queries = useQueryClient();
  useEffect(() => store.takeActive(automation), [store, automation]);
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") void store.look().catch(() => undefined); // the next one will
    };
    const leave = () => void store.save();
    const warn = (event: BeforeUnloadEvent) => {
      if (store.isChanged()) event.preventDefault();
    };
    const timer = setInterval(look, LOOK_MS);
    const stop = onEvent(({ type }) => {
      if (type === "automation.updated") void refresh(queries, "/automations").then(look);
    });
    document.addEventListener("visibilitychange", leave);
    window.addEventListener("beforeunload", warn);
    return () => {
      clearInterval(timer);
      stop();
      document.removeEventListener("visibilitychange", leave);
      window.removeEventListener("beforeunload", warn);
    };
  }, [store, queries]);
  useEffect(() => () => store.close(), [store]);
  return { store, state };
}

/** The first error of each step, from the server or the canvas. */
export function useFaults({ faults }: DraftState, steps: readonly StepValue[]): ReadonlyMap<string, string> {
  return useMemo(
    () =>
      new Map([
        ...(faults.trigger[0] ? ([[TRIGGER, faults.trigger[0].msg]] as const) : []),
        ...[...faults.steps].flatMap(([key, [first]]) => (first ? [[key, first.msg] as const] : [])),
        ...unsound(steps),
      ]),
    [faults, steps],
  );
}

/** Publishing and restoring, with their messages. */
export function usePublishing(
  store: DraftStore,
  automation: Automation,
  open: (opened: Opened | null) => void,
) {
  const queries = useQueryClient();
  const [isPublishing, setPublishing] = useState(false);
  const run = async (work: () => Promise<void>) => {
    setPublishing(true);
    try {
      await work();
      await refresh(queries, "/automations");
    } catch (error) {
      notify(messageOf(error), "bad");
    }
    setPublishing(false);
  };
  return {
    isPublishing,
    onPublish: (only?: readonly string[]) =>
      run(async () => {
        open(null);
        const now = await publish(store, automation, only);
        if (now) notify(only ? t("Your changes are published") : t("Published"));
        else if (store.get().conflicts.length === 0)
          notify(store.get().problem ?? t("Not published. Fix the faults first."), "bad");
      }),
    onRestore: (version: number) =>
      run(async () => {
        if (store.get().draft) await store.discard();
        const now = await call("POST /api/v1/automations/{automation_id}/versions/{version}/restore", {
          path: { automation_id: automation.id, version: String(version) },
        });
        store.restored(now);
        notify(t("Restored version {version}", { version }));
        open(null);
      }),
    onDiscard: () =>
      run(async () => {
        await store.discard();
        open(null);
      }),
  };
}

/** The selection, and what is open next to it. */
export function useChosen(steps: readonly StepValue[]) {
  const address = useAddress();
  const { put, step } = address;
  const [opened, open] = useState<Opened | null>(null);
  const [isWide, setWide] = useState(false);
  const [focus, setFocus] = useState(0);
  const [shown, setShown] = useState<{ key: string; count: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  /** Returns false, and shows the field, while the editor has a field whose text can't be used and would be lost. */
  const isSettled = useCallback(() => {
    if (!showProblem(box.current)) return true;
    notify(t("Fix the invalid field first."), "bad");
    return false;
  }, []);
  const isThere = step === TRIGGER || steps.some(({ key }) => key === step);
  const choose = useCallback(
    (key: string | null, { isOpened = false, isRemoved = false } = {}) => {
      if (key !== step && !isRemoved && !isSettled()) return;
      put({ step: key, ...(key === null ? { tab: null } : {}) });
      if (isOpened) setFocus((count) => count + 1);
      if (key === null) setWide(false);
    },
    [put, step, isSettled],
  );
  const show = useCallback(
    (key: string) => setShown((before) => ({ key, count: (before?.count ?? 0) + 1 })),
    [],
  );
  return {
    chosen: isThere ? step : null,
    tab: address.tab,
    put,
    opened,
    open,
    isWide,
    setWide,
    focus,
    shown,
    choose,
    show,
    box,
    isSettled,
  };
}
