import type { StepCommands } from "./keyboard.ts";
import type { Actions } from "./kinds.ts";
import type { Layout } from "./layout.ts";
import type { TriggerCard } from "./nodes.ts";
import type { StepChange, StepState } from "./states.ts";
import type { StepValue } from "./steps-config.ts";
import type { Spot } from "./ui.ts";

/** By node ID. */
type Positions = Readonly<Record<string, readonly [number, number]>>;

/** What the canvas needs from its surroundings. */
export interface CanvasEvents extends Omit<StepCommands, "connectFrom" | "addAfter" | "addBefore"> {
  onChoose(key: string | null): void;
  onAdd(spot: Spot): void;
  onConnect(source: string, target: string): void;
  onDisconnect(source: string, target: string): void;
  /** Positions of all nodes, including notes, after some of them were moved. */
  onMove(positions: Positions, moved: ReadonlySet<string>): void;
  onUndo(): void;
  onRedo(): void;
  onTidy(): void;
  /** Absent if positions can't be changed. */
  onTurn?(direction: Layout["direction"]): void;
  onHelp(): void;
  onVersions(): void;
  onNextFault(by: 1 | -1): void;
  /** Text for the clipboard. Null for nothing. */
  copy(steps: ReadonlySet<string>): string | null;
  /** Whether the text contained steps. */
  paste(text: string, onto: string | null): boolean;
  /** Collapses or expands a group. */
  expand(groupId: string): void;
  ungroup(groupId: string): void;
  writeNote(id: string, text: string): void;
  removeNote(id: string): void;
}

export interface CanvasProps {
  steps: readonly StepValue[];
  /** The automation's name, as label of the region. */
  name: string;
  trigger: TriggerCard;
  actions: Actions;
  titleOf: (kind: string) => string;
  layout: Layout;
  chosen: string | null;
  states?: ReadonlyMap<string, StepState> | null;
  faults?: ReadonlyMap<string, string>;
  changes?: ReadonlyMap<string, StepChange> | null;
  mayChange: boolean;
  on: CanvasEvents;
  /** True in a page that scrolls: the wheel scrolls the page. */
  isEmbedded?: boolean;
  /** Step to show and focus, with a number that changes each time. */
  shown?: { key: string; count: number } | null;
}
