import type { ActionKindInfo, Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Confirm } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { changeStep } from "../canvas/commands.ts";
import { dependencyOf } from "../canvas/config.ts";
import { isByHand } from "../canvas/layout.ts";
import type { CanvasEvents } from "../canvas/props.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import type { Spot } from "../canvas/ui.ts";
import { AddStep } from "./add-step.tsx";
import { EdgesDialog, KeysDialog, NameDialog, UnguardedDialog } from "./dialogs.tsx";
import { changesInWords, type DraftState } from "./draft.ts";
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
  onDiscard: () => Promise<void>;
  /** While a draft is published or discarded, or a version restored. */
  isPublishing: boolean;
}

/** Dialogs of the editor. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of the dialogs
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
              label: input === undefined ? t("Unpin input") : t("Pin input"),
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
          title={plural(opened.steps.size, { one: "Group # step", other: "Group # steps" })}
          label={t("Name of the group")}
          verb={t("Group|verb")}
          value=""
          onSave={(title) => {
            store.edit({
              label: t("Group {title}", { title }),
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
      return <AskDiscard {...props} onClose={close} />;
  }
}

const titleOfSpot = (spot: Spot, nameOf: (key: string) => string): string => {
  if ("before" in spot) return t("Insert a step before {name}", { name: nameOf(spot.before) });
  if ("target" in spot) return t("Insert a step before {name}", { name: nameOf(spot.target) });
  const [first] = spot.after;
  if (first === undefined) return t("Add a step");
  const { key, branch } = dependencyOf(first);
  return branch === null
    ? t("Add a step after {name}", { name: nameOf(key) })
    : t("Add a step after {name}, branch {branch}", { name: nameOf(key), branch });
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
      label: t("Change what {name} does", { name: nameOf(key) }),
      config: changeStep(config, key, { ...work, ...rest } as StepValue),
    });
  };
  const add = (spot: Spot, made: StepValue) => {
    const at = "at" in spot ? spot.at : undefined;
    store.edit({
      label: t("Add {name}", { name: made.name ?? made.key }),
      config: addAt(config, made, spot),
      ...(at && isByHand(layout)
        ? { layout: { ...layout, positions: { ...layout.positions, [made.key]: [...at] } } }
        : {}),
    });
    choose(made.key, { isOpened: true });
  };
  return (
    <AddStep
      title={
        opened.as === "add"
          ? titleOfSpot(opened.spot, nameOf)
          : t("Change what {name} does", { name: nameOf(opened.key) })
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

type DiscardProps = Pick<EditorDialogsProps, "state" | "onDiscard" | "isPublishing"> & {
  onClose: () => void;
};

function AskDiscard({ state, onDiscard, isPublishing, onClose }: DiscardProps) {
  const words = changesInWords(state.active, state.history.config);
  return (
    <Confirm
      title={t("Discard the draft?")}
      verb={t("Discard draft")}
      onClose={onClose}
      isBusy={isPublishing}
      onConfirm={() => void onDiscard()}
    >
      <p>
        {words === "" ? t("The draft changes nothing.") : t("The draft changes {words}.", { words })}{" "}
        {t("The active version stays as it is.")}
      </p>
    </Confirm>
  );
}
