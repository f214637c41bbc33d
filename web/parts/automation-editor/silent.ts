import type { CanvasEvents } from "../canvas/props.ts";

const nothing = () => undefined;

/** For a read-only canvas. */
export const SILENT: CanvasEvents = {
  onChoose: nothing,
  onAdd: nothing,
  onConnect: nothing,
  onDisconnect: nothing,
  onMove: nothing,
  onUndo: nothing,
  onRedo: nothing,
  onTidy: nothing,
  onHelp: nothing,
  onVersions: nothing,
  onNextFault: nothing,
  copy: () => null,
  paste: () => false,
  expand: nothing,
  ungroup: nothing,
  writeNote: nothing,
  removeNote: nothing,
  open: nothing,
  edges: nothing,
  remove: nothing,
  rename: nothing,
  duplicate: nothing,
  runTo: nothing,
  pin: nothing,
  group: nothing,
  note: nothing,
  openCalled: nothing,
};
