import { t } from "../../texts/text.ts";

/** Commands of a step's shortcuts and menu. `steps` are the selected ones, or a single one. */
export interface StepCommands {
  open(key: string): void;
  connectFrom(key: string): void;
  addAfter(key: string, isBranch: boolean): void;
  addBefore(key: string): void;
  edges(key: string): void;
  remove(steps: ReadonlySet<string>): void;
  rename(key: string): void;
  duplicate(steps: ReadonlySet<string>): void;
  runTo(key: string): void;
  pin(key: string): void;
  group(steps: ReadonlySet<string>): void;
  note(key: string): void;
  openCalled(key: string): void;
}

interface Command {
  readonly name: string;
  /** For display. */
  readonly keys: string;
  readonly mayOnly: boolean;
  /** True if it applies to the trigger too. */
  readonly forTrigger: boolean;
  readonly isBad?: true;
  readonly matches: (event: KeyLike) => boolean;
  readonly run: (commands: StepCommands, key: string, steps: ReadonlySet<string>) => void;
}

type KeyLike = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

const plain =
  (key: string) =>
  ({ key: pressed, ctrlKey, metaKey, altKey, shiftKey }: KeyLike) =>
    pressed === key && !ctrlKey && !metaKey && !altKey && !(shiftKey && key.length > 1);
const withControl =
  (key: string) =>
  ({ key: pressed, ctrlKey, metaKey, altKey }: KeyLike) =>
    pressed.toLowerCase() === key && (ctrlKey || metaKey) && !altKey;

const command = (
  name: string,
  keys: string,
  matches: Command["matches"],
  run: Command["run"],
  more: Partial<Command> = {},
): Command => ({ name, keys, mayOnly: true, forTrigger: false, matches, run, ...more });

/** In menu order. */
export const COMMANDS: readonly Command[] = [
  command(t("Open settings"), "Enter", plain("Enter"), (on, key) => on.open(key), {
    mayOnly: false,
    forTrigger: true,
  }),
  command(t("Run to here"), "R", plain("r"), (on, key) => on.runTo(key)),
  command(t("Pin or unpin result"), "P", plain("p"), (on, key) => on.pin(key)),
  command(t("Add step after"), "A", plain("a"), (on, key) => on.addAfter(key, false), { forTrigger: true }),
  command(t("Add step on a new branch"), "Shift+A", plain("A"), (on, key) => on.addAfter(key, true), {
    forTrigger: true,
  }),
  command(t("Insert step before"), "I", plain("i"), (on, key) => on.addBefore(key)),
  command(t("Connect to another step"), "C", plain("c"), (on, key) => on.connectFrom(key), {
    forTrigger: true,
  }),
  command(t("Edges"), "X", plain("x"), (on, key) => on.edges(key), { forTrigger: true }),
  command(t("Rename"), "F2", plain("F2"), (on, key) => on.rename(key)),
  command(t("Duplicate"), "Ctrl+D", withControl("d"), (on, _, steps) => on.duplicate(steps)),
  command(t("Group selected steps"), "G", plain("g"), (on, _, steps) => on.group(steps)),
  command(t("Add note"), "N", plain("n"), (on, key) => on.note(key), { forTrigger: true }),
  command(t("Open called automation"), "O", plain("o"), (on, key) => on.openCalled(key), { mayOnly: false }),
  command(
    t("Remove step"),
    "Del",
    (event) => plain("Delete")(event) || plain("Backspace")(event),
    (on, _, steps) => on.remove(steps),
    {
      isBad: true,
    },
  ),
];

/** Shortcuts of the whole canvas, for the list of shortcuts. */
export const OTHER_KEYS: readonly (readonly [keys: string, name: string])[] = [
  [t("Arrow keys"), t("Go along the edges, or to the nearest step")],
  ["Home, End", t("Go to the trigger, to the last step")],
  [t("Space, Shift+arrow keys"), t("Select more steps")],
  ["Ctrl+A, Esc", t("Select all steps, none")],
  [t("Alt+arrow keys"), t("Move by 16 px")],
  ["Ctrl+C, Ctrl+X, Ctrl+V", t("Copy as YAML, cut, paste")],
  ["Ctrl+Z, Ctrl+Shift+Z", t("Undo, redo")],
  [t("Ctrl+F, /, F3"), t("Find, next result")],
  ["0, 1, 2, +, −", t("Zoom to 100%, fit all, fit selection, zoom in, zoom out")],
  ["C, C", t("Connect from the next branch of a step that decides")],
  ["M", t("Show or hide the minimap")],
  ["F8, Shift+F8", t("Next fault, previous fault")],
  ["V", t("Compare and restore versions")],
  ["Shift+T", t("Tidy up")],
  ["Ctrl+S, Ctrl+Enter", t("Save the draft, test")],
  ["Ctrl+Shift+Enter", t("Publish")],
  [t("Menu key"), t("Open the step's menu")],
];

export type Side = "up" | "down" | "left" | "right";
const ARROWS: Readonly<Record<string, Side>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
export const sideOf = (key: string): Side | undefined => ARROWS[key];

interface Around {
  nodes: readonly { id: string; position: { x: number; y: number } }[];
  links: readonly { source: string; target: string }[];
  /** True if edges lead from left to right instead of top to bottom. */
  isAcross: boolean;
}

/** The next step in a direction: along edges first, else the nearest one. */
export function neighbour({ nodes, links, isAcross }: Around, key: string, side: Side): string | null {
  const at = nodes.find(({ id }) => id === key)?.position;
  if (!at) return null;
  const linked =
    side === (isAcross ? "right" : "down")
      ? links.filter(({ source }) => source === key).map(({ target }) => target)
      : side === (isAcross ? "left" : "up")
        ? links.filter(({ target }) => target === key).map(({ source }) => source)
        : [];
  const isDown = side === "down" || side === "up";
  const sign = side === "down" || side === "right" ? 1 : -1;
  let best: { id: string; cost: number } | null = null;
  for (const { id, position } of nodes) {
    if (linked.length > 0 ? !linked.includes(id) : id === key) continue;
    const ahead = sign * (isDown ? position.y - at.y : position.x - at.x);
    if (ahead <= 4 && linked.length === 0) continue;
    const aside = Math.abs(isDown ? position.x - at.x : position.y - at.y);
    const cost = ahead + aside * (isDown === isAcross ? 4 : 1.5);
    if (!best || cost < best.cost) best = { id, cost };
  }
  return best?.id ?? null;
}
