import type { ActionKindInfo, Automation } from "../../calls.ts";
import { Confirm } from "../base/dialog.tsx";
import type { CanvasEvents } from "../canvas/canvas.tsx";
import { changeStep } from "../canvas/commands.ts";
import { dependencyOf } from "../canvas/config.ts";
import { isByHand } from "../canvas/layout.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import type { Spot } from "../canvas/ui.ts";
import { AddStep } from "./add-step.tsx";
import { EdgesDialog, KeysDialog, NameDialog, UnguardedDialog } from "./dialogs.tsx";
import { changesInWords, type DraftState, type DraftStore } from "./draft.ts";
import { type Around, addAt, grouped, type Opened, removeSteps } from "./events.ts";
import { PublishDialog } from "./publish-dialog.tsx";
import { TestDialog } from "./test-dialog.tsx";
import type { TestPlan, useTesting } from "./testing.ts";
import { Versions } from "./versions.tsx";

interface EditorDialogsProps {
  opened: Opened | null;
  around: Around;
  automation: Automation;
  state: DraftState;
  steps: readonly StepValue[];
  kinds: readonly ActionKindInfo[];
  titleOf: (kind: string) => string;
  kindOfStep: (step: StepValue) => string | undefined;
  mayChange: boolean;
  testing: ReturnType<typeof useTesting>;
  on: CanvasEvents;
  onTest: (plan: TestPlan) => Promise<void>;
  onPublish: (only?: readonly string[]) => Promise<void>;
  onRestore: (version: number) => Promise<void>;
}

/** Whatever the editor asks. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of the dialogs, one after the other
export default function EditorDialogs(props: EditorDialogsProps) {
  const { opened, around, automation, state, steps, on } = props;
  const { store, nameOf, choose, show, open } = around;
  const close = () => open(null);
  if (opened === null) return null;
  switch (opened.as) {
    case "add":
    case "replace":
      return <Adding {...props} opened={opened} />;
    case "test":
      return (
        <TestDialog
          automation={automation}
          config={state.history.config}
          steps={steps}
          end={opened.end}
          nameOf={nameOf}
          kindOf={props.kindOfStep}
          last={props.testing.last}
          lastRun={props.testing.run}
          onPin={(input) => {
            const { pinnedInput: _, ...config } = state.history.config;
            store.edit({
              label: input === undefined ? "Unpin input" : "Pin input",
              config: input === undefined ? config : { ...config, pinnedInput: input },
            });
          }}
          onStart={props.onTest}
          onClose={close}
        />
      );
    case "edges":
      return (
        <EdgesDialog
          step={opened.key}
          steps={steps}
          nameOf={nameOf}
          onAdd={on.onAdd}
          onDisconnect={on.onDisconnect}
          onGo={(key) => {
            close();
            choose(key);
            show(key);
          }}
          onClose={close}
        />
      );
    case "group":
      return (
        <NameDialog
          title={`Group ${opened.steps.size} steps`}
          label="Name of the group"
          verb="Group"
          value=""
          onSave={(title) => {
            store.edit({
              label: `Group ${title}`,
              layout: grouped(state.history.layout, title, opened.steps),
            });
            close();
          }}
          onClose={close}
        />
      );
    case "unguarded":
      return (
        <UnguardedDialog
          steps={opened.others}
          onRemoveAll={() => {
            removeSteps(around, new Set([...opened.steps, ...opened.others.map(({ key }) => key)]));
            close();
          }}
          onKeep={() => {
            removeSteps(around, opened.steps);
            close();
          }}
          onClose={close}
        />
      );
    case "keys":
      return <KeysDialog onClose={close} />;
    case "versions":
      return (
        <Versions
          automation={automation}
          current={state.history.config}
          hasDraft={state.draft !== null}
          titleOf={props.titleOf}
          mayChange={props.mayChange}
          onRestore={props.onRestore}
          onClose={close}
        />
      );
    case "publish":
      return (
        <PublishDialog
          automation={automation}
          state={state}
          titleOf={props.titleOf}
          nameOf={nameOf}
          onPublish={props.onPublish}
          onClose={close}
        />
      );
    case "discard":
      return <AskDiscard store={store} state={state} onClose={close} />;
  }
}

const titleOfSpot = (spot: Spot, nameOf: (key: string) => string): string => {
  if ("before" in spot) return `Insert a step before ${nameOf(spot.before)}`;
  if ("target" in spot) return `Insert a step before ${nameOf(spot.target)}`;
  const [first] = spot.after;
  if (first === undefined) return "Add a step";
  const { key, branch } = dependencyOf(first);
  return `Add a step after ${nameOf(key)}${branch === null ? "" : `, branch ${branch}`}`;
};

type AddingProps = EditorDialogsProps & { opened: Extract<Opened, { as: "add" | "replace" }> };

function Adding({ opened, around, state, steps, kinds }: AddingProps) {
  const { store, nameOf, choose, open } = around;
  const { config, layout } = state.history;
  const replace = (key: string, made: StepValue) => {
    const before = steps.find((step) => step.key === key);
    if (!before) return;
    const { actionId: _a, kind: _k, definition: _d, connectionId: _c, ...rest } = before;
    const { key: _, ...work } = made;
    store.edit({
      label: `Change what ${nameOf(key)} does`,
      config: changeStep(config, key, { ...work, ...rest } as StepValue),
    });
  };
  const add = (spot: Spot, made: StepValue) => {
    const at = "at" in spot ? spot.at : undefined;
    store.edit({
      label: `Add ${made.name ?? made.key}`,
      config: addAt(config, made, spot),
      ...(at && isByHand(layout)
        ? { layout: { ...layout, positions: { ...layout.positions, [made.key]: [...at] } } }
        : {}),
    });
    choose(made.key, true);
  };
  return (
    <AddStep
      title={
        opened.as === "add" ? titleOfSpot(opened.spot, nameOf) : `Change what ${nameOf(opened.key)} does`
      }
      kinds={kinds}
      steps={steps}
      onPick={(made) => {
        open(null);
        if (opened.as === "replace") replace(opened.key, made);
        else add(opened.spot, made);
      }}
      onClose={() => open(null)}
    />
  );
}

interface DiscardProps {
  store: DraftStore;
  state: DraftState;
  onClose: () => void;
}

function AskDiscard({ store, state, onClose }: DiscardProps) {
  return (
    <Confirm
      title="Discard the draft?"
      verb="Discard draft"
      onClose={onClose}
      onConfirm={() => void store.discard().then(onClose)}
    >
      <p>
        The draft changes {changesInWords(state.active, state.history.config) || "nothing"}. The active
        version stays as it is.
      </p>
    </Confirm>
  );
}
