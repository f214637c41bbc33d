import { type DragEvent, useState } from "react";

/** What rows are while they are dragged; nothing else in the browser takes them. */
const ROWS = "application/x-weir-rows";

/** Lets rows be dragged: the chosen ones where the row under the pointer is one of them, else that alone. */
export const rowsDragged =
  <T extends { id: string }>(chosen: readonly T[]) =>
  ({ dataTransfer }: DragEvent, row: T) => {
    const dragged = chosen.includes(row) ? chosen : [row];
    dataTransfer.setData(ROWS, dragged.map(({ id }) => id).join());
    dataTransfer.effectAllowed = "move";
  };

/** Where rows can be dropped, by path, and what they are over now. */
export function useDropTargets(onDrop: (ids: ReadonlySet<string>, path: string) => void) {
  const [over, setOver] = useState<string | null>(null);
  const on = (path: string) => ({
    onDragOver(event: DragEvent) {
      if (!event.dataTransfer.types.includes(ROWS)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "move";
      setOver(path);
    },
    onDragLeave: () => setOver(null),
    onDrop(event: DragEvent) {
      event.preventDefault();
      setOver(null);
      onDrop(new Set(event.dataTransfer.getData(ROWS).split(",")), path);
    },
  });
  return { over, on };
}
