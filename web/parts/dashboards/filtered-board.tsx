import { type ReactNode, useState } from "react";
import type { DashboardData } from "../../calls.ts";
import type { Cell, Picking } from "../table/picks.ts";
import { Board, type PanelData, rowsOf, type ShownPanel } from "./board.tsx";
import { filtersFor, toggle } from "./clicks.ts";
import { DrillDialog } from "./drill.tsx";
import type { Filter, Values } from "./values.ts";

interface Props<P extends ShownPanel> {
  panels: readonly P[];
  filters: readonly Filter[];
  values: Values;
  data: DashboardData | undefined;
  actionsOf?: (panel: P) => ReactNode;
  /** URL where the rows behind an element can be queried. */
  hrefOf?: (panel: P, cells: readonly Cell[]) => string | null;
}

interface Opened<P> {
  panel: P;
  data: PanelData;
  cells: readonly Cell[];
}

/** A board where a click on a value sets its filter, or shows the rows behind it if there is none. */
export function FilteredBoard<P extends ShownPanel>(props: Props<P>) {
  const { panels, filters, values, data, actionsOf, hrefOf } = props;
  const [opened, setOpened] = useState<Opened<P> | null>(null);
  const pickingOf = (panel: P): Picking | undefined => {
    const shown = data?.panels[panel.key];
    if (!data || !shown) return undefined;
    const changesBy = (cells: readonly Cell[]) =>
      filtersFor(cells, {
        filters,
        choices: data.choices,
        clickFilters: panel.clickFilters,
        valuesIn: (column) => rowsOf(shown).map((row) => row[column]),
      });
    return {
      may: (cell) => Object.keys(changesBy([cell])).length > 0,
      pick: (cells) => {
        const changes = changesBy(cells);
        if (Object.keys(changes).length > 0) toggle(values, changes);
        else setOpened({ panel, data: shown, cells });
      },
    };
  };
  return (
    <>
      <Board panels={panels} data={data} actionsOf={actionsOf} pickingOf={pickingOf} />
      {opened && (
        <DrillDialog
          {...opened}
          href={hrefOf?.(opened.panel, opened.cells) ?? null}
          onClose={() => setOpened(null)}
        />
      )}
    </>
  );
}
