import { type ReactNode, useState } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { plural } from "../base/plural.ts";
import type { Column } from "./table.tsx";

/** Selected rows that are currently in the list. */
export function useSelection<T extends { id: string }>(rows: readonly T[], nameOf: (row: T) => string) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const set = (id: string, isChosen: boolean) => {
    const next = new Set(ids);
    if (isChosen) next.add(id);
    else next.delete(id);
    setIds(next);
  };
  const chosen = rows.filter(({ id }) => ids.has(id));
  const column: Column<T> = {
    name: t("Select"),
    isUntitled: true,
    head: (
      <input
        type="checkbox"
        className="block size-4 accent-accent"
        aria-label={t("Select all on this page")}
        checked={rows.length > 0 && chosen.length === rows.length}
        onChange={({ target: { checked } }) => setIds(new Set(checked ? rows.map(({ id }) => id) : []))}
      />
    ),
    cell: (row) => (
      <input
        type="checkbox"
        className="block size-4 accent-accent"
        aria-label={t("Select {row}", { row: nameOf(row) })}
        checked={ids.has(row.id)}
        onChange={({ target: { checked } }) => set(row.id, checked)}
      />
    ),
  };
  return {
    chosen,
    column,
    clear: () => setIds(new Set()),
  };
}

/** Operations on selected rows, below the list and always visible. */
export const SelectionBar = ({
  count,
  onClear,
  children,
}: {
  count: number;
  onClear: () => void;
  children: ReactNode;
}) => (
  <div className="sticky bottom-0 z-10 flex flex-wrap items-center gap-2 border-t border-line bg-raised px-3 py-1.5 sm:px-4">
    <span className="text-sm tabular-nums" role="status">
      {plural(count, { one: "# selected", other: "# selected" })}
    </span>
    {children}
    <Button kind="quiet" onClick={onClear}>
      {t("Clear selection")}
    </Button>
  </div>
);
