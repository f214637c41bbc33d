import { useQueryClient } from "@tanstack/react-query";
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useSearch } from "wouter";
import { ApiError, call } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { refresh, useMay, useMe } from "../../data.ts";
import { onEvent } from "../../live.ts";
import { useKinds, useStepActions } from "../automations/actions.ts";
import { useLastRun, useWrittenScope } from "../automations/last-run.ts";
import { triggerCard } from "../automations/trigger-card.ts";
import { notify } from "../base/toast.tsx";
import { Canvas } from "../canvas/canvas.tsx";
import { TRIGGER, unsound } from "../canvas/config.ts";
import { kindOf } from "../canvas/kinds.ts";
import type { Layout } from "../canvas/layout.ts";
import { diff, isEmpty } from "../canvas/patch.ts";
import { canDrawSteps, type StepValue, stepsIn } from "../canvas/steps-config.ts";
import { ScopeOfValues } from "../editor/evaluated.tsx";
import { TemplatePaths } from "../editor/template-paths.ts";
import { useClipboard } from "./clipboard.ts";
import { Conflicts } from "./conflicts.tsx";
import { type DraftState, type DraftStore, openDraft } from "./draft.ts";
import { EditorDialogs } from "./editor-dialogs.tsx";
import { type Around, canvasEvents, type Opened } from "./events.ts";
import { faultsBySteps } from "./faults.ts";
import { useInsert } from "./insert.ts";
import { ConfigJson } from "./json.tsx";
import { type PanelTab, StepPanel } from "./panel.tsx";
import { panelParts } from "./panel-parts.tsx";
import { publish } from "./publish.ts";
import type { StoredDraft } from "./read-draft.ts";
import { StepList } from "./step-list.tsx";
import { TestBar } from "./test-bar.tsx";
import { type TestPlan, useStates, useTesting } from "./testing.ts";
import { TopBar, type View } from "./top-bar.tsx";

interface Props {
  automation: Automation;
  draft: StoredDraft | null;
  layout: Layout;
}

const LOOK_MS = 10_000;
const TABS: readonly PanelTab[] = ["input", "settings", "output"];

/** The chosen step and tab stand in the address, so that a reload or a link comes back to them. */
function useAddress() {
  const search = new URLSearchParams(useSearch());
  const asked = search.get("tab") as PanelTab;
  const put = useCallback((change: Record<string, string | null>) => {
    const next = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    const text = next.toString();
    history.replaceState(history.state, "", `${location.pathname}${text === "" ? "" : `?${text}`}`);
  }, []);
  return { step: search.get("step"), tab: TABS.includes(asked) ? asked : ("settings" as PanelTab), put };
}

/** The draft, kept in step with the server for as long as the editor is open. */
function useDraft({ automation, draft, layout }: Props) {
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

const isNarrow = () => matchMedia("(max-width: 639px)").matches;

const said = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The first fault of each step, of the server and of the canvas. */
function useFaults({ faults }: DraftState, steps: readonly StepValue[]): ReadonlyMap<string, string> {
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

/** Publishing and restoring, with what is said of them. */
function usePublishing(store: DraftStore, automation: Automation, open: (opened: Opened | null) => void) {
  const queries = useQueryClient();
  const [isPublishing, setPublishing] = useState(false);
  const run = async (work: () => Promise<void>) => {
    setPublishing(true);
    try {
      await work();
      await refresh(queries, "/automations");
    } catch (error) {
      notify(said(error), "bad");
    }
    setPublishing(false);
  };
  return {
    isPublishing,
    onPublish: () =>
      run(async () => {
        open(null);
        const now = await publish(store, automation);
        if (now) notify("Published");
        else if (store.get().conflicts.length === 0)
          notify(store.get().problem ?? "Not published. Fix the faults first.", "bad");
      }),
    onRestore: (version: number) =>
      run(async () => {
        if (store.get().draft) await store.discard();
        const now = await call("POST /api/v1/automations/{automation_id}/versions/{version}/restore", {
          path: { automation_id: automation.id, version: String(version) },
        });
        store.restored(now);
        notify(`Restored version ${version}`);
        open(null);
      }),
  };
}

/** What is chosen, and what is open beside it. */
function useChosen(steps: readonly StepValue[]) {
  const address = useAddress();
  const { put } = address;
  const [opened, open] = useState<Opened | null>(null);
  const [isWide, setWide] = useState(false);
  const [focus, setFocus] = useState(0);
  const [shown, setShown] = useState<{ key: string; count: number } | null>(null);
  const isThere = address.step === TRIGGER || steps.some(({ key }) => key === address.step);
  const choose = useCallback(
    (key: string | null, isOpened = false) => {
      put({ step: key, ...(key === null ? { tab: null } : {}) });
      if (isOpened) setFocus((count) => count + 1);
      if (key === null) setWide(false);
    },
    [put],
  );
  const show = useCallback(
    (key: string) => setShown((before) => ({ key, count: (before?.count ?? 0) + 1 })),
    [],
  );
  return {
    chosen: isThere ? address.step : null,
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
  };
}

export default function AutomationEditor(props: Props) {
  const { automation } = props;
  const mayChange = useMay("member");
  const { user } = useMe();
  const { store, state } = useDraft(props);
  const { config, layout } = state.history;
  const steps = useMemo(() => stepsIn(config), [config]);
  const [view, setView] = useState<View>(() => (isNarrow() ? "list" : "canvas"));
  const address = useChosen(steps);
  const { chosen, choose, show, open, opened } = address;
  const { kinds, titleOf } = useKinds();
  const actions = useStepActions(steps);
  const trigger = useMemo(
    () => triggerCard(automation.triggerType, config),
    [automation.triggerType, config],
  );
  const testing = useTesting(automation.id);
  const states = useStates(testing.run);
  const last = useLastRun(automation, testing.run);
  const scope = useWrittenScope(last, steps);
  const { onFocus, insert } = useInsert();
  const clipboard = useClipboard(actions);
  const publishing = usePublishing(store, automation, open);
  const faults = useFaults(state, steps);
  const names = useMemo(() => new Map(steps.map(({ key, name }) => [key, name ?? key])), [steps]);
  const nameOf = (key: string) => names.get(key) ?? (key === TRIGGER ? trigger.name : key);
  const differs = useMemo(() => !isEmpty(diff(state.active, config, "")), [state.active, config]);
  const around: Around = {
    store,
    actions,
    nameOf,
    choose,
    show,
    open,
    resultOf: (key) => last.results.get(key)?.result,
    faulty: [...faults.keys()],
    chosen,
    clipboard,
  };
  const on = canvasEvents(around);
  const onTest = async (plan: TestPlan) => {
    try {
      await testing.start(plan);
      open(null);
      notify(plan.upTo === null ? "Test started" : `Running to ${nameOf(plan.upTo)}`);
      if (plan.upTo !== null) choose(plan.upTo);
      if (plan.upTo !== null) address.put({ tab: "output" });
    } catch (error) {
      if (error instanceof ApiError && error.faults.some(({ loc }) => loc[1] === "config")) {
        store.setFaults(faultsBySteps(error.faults, plan.config));
        open(null);
      }
      notify(said(error), "bad");
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || !mayChange) return;
    if (event.key.toLowerCase() === "s") void store.save();
    else if (event.key === "Enter" && opened === null) open({ as: "test", end: null });
    else return;
    event.preventDefault();
  };
  const hasOthers = Object.values(state.draft?.changedBy ?? {}).some((id) => id !== user?.id);
  const step = steps.find(({ key }) => key === chosen) ?? null;
  const canDraw = canDrawSteps(config);
  const drawn = canDraw ? view : "json";
  const shared = { steps, trigger, actions, titleOf, states, faults, chosen } as const;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the editor that work in all of it
    <div className="flex h-full min-h-0 flex-col" onKeyDown={onKeyDown}>
      <TopBar
        automation={automation}
        state={state}
        differs={differs}
        faults={faults.size}
        view={drawn}
        mayChange={mayChange}
        isPublishing={publishing.isPublishing}
        onView={setView}
        onUndo={on.onUndo}
        onRedo={on.onRedo}
        onFault={() => on.onNextFault(1)}
        onVersions={() => open({ as: "versions" })}
        onTest={() => open({ as: "test", end: null })}
        onDiscard={() => open({ as: "discard" })}
        onPublish={() => (hasOthers ? open({ as: "publish" }) : void publishing.onPublish())}
      />
      <Notices state={state} onHeard={store.hearOthers} />
      <TemplatePaths value={last.paths}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: notes which field was written in last */}
        <div className="relative flex min-h-0 grow max-sm:flex-col" onFocus={onFocus}>
          <div className="relative min-h-0 min-w-0 grow">
            {drawn === "json" && (
              <ConfigJson
                config={config}
                mayChange={mayChange}
                canDraw={canDraw}
                onChange={(next) => store.edit({ label: "Edit JSON", config: next, scope: "json" })}
              />
            )}
            {drawn === "list" && (
              <StepList
                {...shared}
                onChoose={(key) => choose(key)}
                onAdd={
                  mayChange
                    ? () => on.onAdd({ after: steps.length > 0 ? [steps.at(-1)?.key ?? ""] : [] })
                    : null
                }
              />
            )}
            {drawn === "canvas" && (
              <Canvas
                {...shared}
                name={automation.name}
                layout={layout}
                mayChange={mayChange}
                shown={address.shown}
                on={on}
              />
            )}
            {drawn === "canvas" && steps.length === 0 && mayChange && (
              <FirstStep onAdd={() => on.onAdd({ after: [] })} />
            )}
          </div>
          {chosen !== null && (
            <ScopeOfValues value={scope}>
              <StepPanel
                key={step ? "step" : "trigger"}
                name={nameOf(chosen)}
                tab={address.tab}
                onTab={(tab) => address.put({ tab })}
                isWide={address.isWide}
                onWide={() => address.setWide(!address.isWide)}
                focus={address.focus}
                onRunTo={step && mayChange ? () => open({ as: "test", end: step.key }) : null}
                onRemove={step && mayChange ? () => on.remove(new Set([step.key])) : null}
                onClose={() => {
                  choose(null);
                  show(chosen);
                }}
                parts={panelParts({
                  step,
                  steps,
                  automation,
                  state,
                  around,
                  actions,
                  kinds,
                  last,
                  mayChange,
                  onDisconnect: on.onDisconnect,
                  onInsert(path) {
                    address.put({ tab: "settings" });
                    requestAnimationFrame(() => insert(path));
                  },
                  onRenamed: (key) => address.put({ step: key }),
                })}
              />
            </ScopeOfValues>
          )}
        </div>
      </TemplatePaths>
      {testing.run && (
        <TestBar
          run={testing.run}
          title="Test run"
          nameOf={nameOf}
          pinned={steps.filter(({ pinned }) => pinned !== undefined).length}
          onChoose={(key) => choose(key)}
          onCancel={testing.isOver ? null : () => void testing.cancel()}
          onHide={testing.hide}
        />
      )}
      {state.conflicts.length > 0 && (
        <Conflicts conflicts={state.conflicts} nameOf={nameOf} onDecide={store.resolve} />
      )}
      <EditorDialogs
        opened={opened}
        around={around}
        automation={automation}
        state={state}
        steps={steps}
        kinds={kinds}
        titleOf={titleOf}
        kindOfStep={(each) => kindOf(each, actions)}
        mayChange={mayChange}
        testing={testing}
        on={on}
        onTest={onTest}
        onPublish={publishing.onPublish}
        onRestore={publishing.onRestore}
      />
    </div>
  );
}

const FirstStep = ({ onAdd }: { onAdd: () => void }) => (
  <div className="pointer-events-none absolute inset-x-0 bottom-16 flex justify-center">
    <button
      type="button"
      onClick={onAdd}
      className="pointer-events-auto min-h-12 rounded-xl border border-dashed border-strong-line bg-raised px-6 text-sm hover:border-accent hover:text-accent"
    >
      Add the first step
    </button>
  </div>
);

/** What others have changed, and why a draft is not saved. */
function Notices({ state, onHeard }: { state: DraftState; onHeard: () => void }) {
  return (
    <>
      {state.others && (
        <p
          role="status"
          className="flex items-center gap-3 border-b border-line bg-warn-soft px-3 py-1 text-sm text-warn"
        >
          <span className="grow">{state.others} Their changes are merged into yours.</span>
          <button type="button" className="min-h-6 underline" onClick={onHeard}>
            Dismiss
          </button>
        </p>
      )}
      {state.problem && (
        <p role="alert" className="border-b border-line bg-bad-soft px-3 py-1 text-sm text-bad">
          Draft not saved: {state.problem}
        </p>
      )}
    </>
  );
}
