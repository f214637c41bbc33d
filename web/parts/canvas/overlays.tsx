import { useReactFlow } from "@xyflow/react";
import { useCallback, useContext, useEffect } from "react";
import { Later, part } from "../base/later.tsx";
import { HEIGHT, WIDTH } from "./arrange.ts";
import type { StepCommands } from "./keyboard.ts";
import type { StepValue } from "./steps-config.ts";
import { UiContext } from "./ui.ts";
import { glide } from "./zoom.tsx";

const find = part(() => import("./find.tsx"));
const stepMenu = part(() => import("./step-menu.tsx"));

/** Where a step's menu is open, in the window. */
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
  menu: MenuSpot | null;
  /** With the step to go to. */
  onFound: (key: string | null) => void;
  onMenuClose: () => void;
}

/** The search and the menu of a step, which lie over the canvas and are fetched once it stands. */
export function Overlays(props: Props) {
  const { steps, selected, commands, mayChange, isFinding, menu, onFound, onMenuClose } = props;
  const flow = useReactFlow();
  const ui = useContext(UiContext);
  const onFinding = useCallback((found: ReadonlySet<string> | null) => ui.set({ found }), [ui]);
  useEffect(() => void Promise.all([find.load(), stepMenu.load()]).catch(() => undefined), []); // the component shows it if they can't be loaded
  return (
    <>
      {isFinding && (
        <Later
          of={find}
          waiting={null}
          given={{
            steps,
            onFound: onFinding,
            onShow(key: string) {
              const node = flow.getNode(key);
              if (node)
                void flow.setCenter(node.position.x + WIDTH / 2, node.position.y + HEIGHT / 2, {
                  zoom: Math.max(flow.getZoom(), 0.6),
                  ...glide(),
                });
            },
            onClose: onFound,
          }}
        />
      )}
      {menu && (
        <Later
          of={stepMenu}
          waiting={null}
          given={{
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
