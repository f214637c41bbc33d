import { useCallback, useContext, useEffect } from "react";
import { Later, part } from "../base/later.tsx";
import type { StepCommands } from "./keyboard.ts";
import type { StepValue } from "./steps-config.ts";
import { UiContext } from "./ui.ts";
import type { View } from "./view.tsx";

const find = part(() => import("./find.tsx"));
const stepMenu = part(() => import("./step-menu.tsx"));

/** Position of a step's menu in the window. */
export interface MenuSpot {
  x: number;
  y: number;
  step: string;
}

interface Props {
  steps: readonly StepValue[];
  selected: ReadonlySet<string>;
  commands: StepCommands;
  mayChange: boolean;
  isFinding: boolean;
  view: View;
  menu: MenuSpot | null;
  /** Called with the step to show. */
  onFound: (key: string | null) => void;
  onMenuClose: () => void;
}

/** The search and the menu of a step above the canvas. Loaded after the canvas is shown. */
export function Overlays(props: Props) {
  const { steps, selected, commands, mayChange, isFinding, view, menu, onFound, onMenuClose } = props;
  const ui = useContext(UiContext);
  const onFinding = useCallback((found: ReadonlySet<string> | null) => ui.set({ found }), [ui]);
  useEffect(() => void Promise.all([find.load(), stepMenu.load()]).catch(() => undefined), []); // the component shows it if they can't be loaded
  return (
    <>
      {isFinding && (
        <Later
          of={find}
          waiting={null}
          props={{
            steps,
            onFound: onFinding,
            onShow: view.show,
            onClose: onFound,
          }}
        />
      )}
      {menu && (
        <Later
          of={stepMenu}
          waiting={null}
          props={{
            at: menu,
            step: menu.step,
            selected,
            commands,
            mayChange,
            onClose: onMenuClose,
          }}
        />
      )}
    </>
  );
}
