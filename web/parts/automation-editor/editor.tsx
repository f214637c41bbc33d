import { type KeyboardEvent, useEffect, useMemo, useState } from "react";
import { ApiError } from "../../api.ts";
import { useMay, useMe } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { useKinds, useStepActions } from "../automations/actions.ts";
import { useLastRun, useWrittenScope } from "../automations/last-run.ts";
import { triggerCard } from "../automations/trigger-card.ts";
import { Later, part } from "../base/later.tsx";
import { notify } from "../base/toast.tsx";
import { Canvas } from "../canvas/canvas.tsx";
import { TRIGGER } from "../canvas/config.ts";
import { kindOf } from "../canvas/kinds.ts";
import { diff, isEmpty } from "../canvas/patch.ts";
import { canDrawSteps, stepsIn } from "../canvas/steps-config.ts";
import { ScopeOfValues } from "../editor/evaluated.tsx";
import { TemplatePaths } from "../editor/template-paths.ts";
import { useClipboard } from "./clipboard.ts";
import { type Around, canvasEvents, onEditorKey } from "./events.ts";
import { faultsBySteps } from "./faults.ts";
import { useInsert } from "./insert.ts";
import { FirstStep, Notices } from "./notices.tsx";
import { StepPanel } from "./panel.tsx";
import { panelParts, stepForm } from "./panel-parts.tsx";
import { type EditorProps, messageOf, useChosen, useDraft, useFaults, usePublishing } from "./state.ts";
import { type TestPlan, useStates, useTesting } from "./testing.ts";
import { TopBar, type View } from "./top-bar.tsx";

const configJson = part(() => import("./json.tsx"));
const stepList = part(() => import("./step-list.tsx"));
const testBar = part(() => import("./test-bar.tsx"));
const conflicts = part(() => import("./conflicts.tsx"));
/** Loaded after the canvas is shown, since no dialog is open at first. */
const dialogs = part(() => import("./editor-dialogs.tsx"));

const isNarrow = () => matchMedia("(max-width: 639px)").matches;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: connects all parts of the editor
export default function AutomationEditor(props: EditorProps) {
  const { automation } = props;
  const mayChange = useMay("member");
  useEffect(() => {
    for (const each of [stepForm, dialogs]) each.load().catch(() => undefined); // the component reports failures
  }, []);
  const { user } = useMe();
  const { store, state } = useDraft(props);
  const { config, layout } = state.history;
  const steps = useMemo(() => stepsIn(config), [config]);
  const [view, setView] = useState<View>(() => (isNarrow() ? "list" : "canvas"));
  const address = useChosen(steps);
  const { chosen, choose, show, open, opened, isSettled } = address;
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
    if (!isSettled()) return;
    try {
      await testing.start(plan);
      open(null);
      notify(plan.upTo === null ? t("Test started") : t("Running to {name}", { name: nameOf(plan.upTo) }));
      if (plan.upTo !== null) choose(plan.upTo);
      if (plan.upTo !== null) address.put({ tab: "output" });
    } catch (error) {
      if (error instanceof ApiError && error.faults.some(({ loc }) => loc[1] === "config")) {
        store.setFaults(faultsBySteps(error.faults, plan.config));
        open(null);
      }
      notify(messageOf(error), "bad");
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const onPublish = () => void askPublish();
    if (opened !== null || !onEditorKey(event, { store, on, open, onPublish, mayChange })) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const canPublish = mayChange && (differs || automation.status === "draft");
  const askPublish = async () => {
    if (publishing.isPublishing) return;
    if (!isSettled()) return;
    if (!canPublish) return notify(t("Nothing to publish"));
    await store.save();
    const { draft } = store.get();
    if (Object.values(draft?.changedBy ?? {}).some((id) => id !== user?.id)) open({ as: "publish" });
    else await publishing.onPublish();
  };
  const step = steps.find(({ key }) => key === chosen) ?? null;
  const canDraw = canDrawSteps(config);
  const drawn = canDraw ? view : "json";
  const shared = { steps, trigger, actions, titleOf, states, faults, chosen } as const;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: shortcuts that work in the whole editor
    <div
      ref={address.box}
      data-panel={chosen === null ? undefined : ""}
      className="flex h-full min-h-0 flex-col"
      onKeyDown={onKeyDown}
    >
      <TopBar
        automation={automation}
        state={state}
        differs={differs}
        faults={faults.size}
        view={drawn}
        mayChange={mayChange}
        isPublishing={publishing.isPublishing}
        canPublish={canPublish}
        onView={(next) => isSettled() && setView(next)}
        onUndo={on.onUndo}
        onRedo={on.onRedo}
        onFault={() => on.onNextFault(1)}
        onVersions={() => open({ as: "versions" })}
        onTest={() => open({ as: "test", end: null })}
        onDiscard={() => open({ as: "discard" })}
        onPublish={() => void askPublish()}
      />
      <Notices state={state} onHeard={store.hearOthers} />
      <TemplatePaths value={last.paths}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: notes which field was written in last */}
        <div className="relative flex min-h-0 grow max-sm:flex-col" onFocus={onFocus}>
          <div className="relative min-h-0 min-w-0 grow">
            {drawn === "json" && (
              <Later
                of={configJson}
                props={{
                  config,
                  mayChange,
                  canDraw,
                  onChange: (next) => store.edit({ label: t("Edit JSON"), config: next, scope: "json" }),
                }}
              />
            )}
            {drawn === "list" && (
              <Later
                of={stepList}
                props={{
                  ...shared,
                  onChoose: (key) => choose(key),
                  onAdd: mayChange
                    ? () => on.onAdd({ after: steps.length > 0 ? [steps.at(-1)?.key ?? ""] : [] })
                    : null,
                }}
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
        <Later
          of={testBar}
          waiting={null}
          props={{
            run: testing.run,
            title: t("Test run"),
            nameOf: nameOf,
            pinned: steps.filter(({ pinned }) => pinned !== undefined).length,
            onChoose: (key) => choose(key),
            onCancel: testing.isOver ? null : () => void testing.cancel(),
            onHide: testing.hide,
          }}
        />
      )}
      {state.conflicts.length > 0 && (
        <Later
          of={conflicts}
          waiting={null}
          props={{ conflicts: state.conflicts, nameOf, onDecide: store.resolve }}
        />
      )}
      {opened !== null && (
        <Later
          of={dialogs}
          waiting={null}
          props={{
            opened,
            around,
            automation,
            state,
            steps,
            kinds,
            titleOf,
            kindOfStep: (each) => kindOf(each, actions),
            mayChange,
            testing,
            on,
            onTest,
            ...publishing,
          }}
        />
      )}
    </div>
  );
}
