import { type DragEvent, useState } from "react";

/** Data type of dragged rows, which nothing else in the browser accepts. */
const ROWS = "application/x-weir-rows";

/** Makes rows draggable: all selected ones if the row under the pointer is one of them, else only that row. */
export const rowsDragged =
  <T extends { id: string }>(chosen: readonly T[]) =>
  ({ dataTransfer }: DragEvent, row: T) => {
    const dragged = chosen.includes(row) ? chosen : [row];
    dataTransfer.setData(ROWS, dragged.map(({ id }) => id).join());
    dataTransfer.effectAllowed = "move";
  };

/** Drop targets for rows, by path, and the current one. */
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
