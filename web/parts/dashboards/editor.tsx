import { LayoutDashboard, ListFilter, Plus, Save } from "lucide-react";
import { useEffect, useState } from "react";
import { useAll } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, LinkButton } from "../base/button.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Locked } from "../base/locked.tsx";
import { Empty, PageHead } from "../base/page.tsx";
import { useUnsaved } from "../base/unsaved.tsx";
import { type Draft, type DraftFilter, type DraftPanel, freeKey, newPanel } from "./draft.ts";
import { EditGrid } from "./edit-grid.tsx";
import { FilterDialog } from "./filter-dialog.tsx";
import { moved, without } from "./layout.ts";
import { PanelDialog } from "./panel-dialog.tsx";

const REFRESHES: readonly (readonly [seconds: number, name: string])[] = [
  [15, t("Every 15 seconds")],
  [60, t("Every minute")],
  [300, t("Every 5 minutes")],
  [3600, t("Every hour")],
  [86_400, t("Every day")],
];

interface Props {
  start: Draft;
  title: string;
  from: readonly (readonly [href: string, name: string])[];
  saving: { isPending: boolean; isSuccess: boolean; error: Error | null };
  onSave: (draft: Draft) => void;
  onDirty?: (isDirty: boolean) => void;
}

type Opened = { panel: DraftPanel; isNew: boolean } | { filter: DraftFilter; isNew: boolean } | null;

/** Edits a dashboard: its name, filters and panels. Nothing is saved before the user selects Save. */
export function DashboardEditor({ start, title, from, saving, onSave, onDirty }: Props) {
  const [draft, setDraft] = useState(start);
  const [opened, setOpened] = useState<Opened>(null);
  const queries = useAll("GET /api/v1/queries", {}, ({ queries: items }) => items).data ?? [];
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  useUnsaved(draft !== start && !saving.isPending && !saving.isSuccess);
  const isDirty = draft !== start || opened !== null;
  useEffect(() => onDirty?.(isDirty), [isDirty, onDirty]);
  const { filters, panels } = draft;
  const close = () => setOpened(null);
  const addPanel = () => setOpened({ panel: newPanel(panels), isNew: true });
  return (
    <>
      <PageHead title={title} from={from}>
        <LinkButton href={from.at(-1)?.[0] ?? "/dashboards"}>{t("Cancel")}</LinkButton>
        <Button
          kind="main"
          icon={Save}
          busy={saving.isPending}
          disabled={draft.name.trim() === ""}
          onClick={() => onSave(draft)}
        >
          {t("Save")}
        </Button>
      </PageHead>
      {saving.error && (
        <p role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          {saving.error.message}
        </p>
      )}
      <Locked isOn={saving.isPending}>
        <Facts draft={draft} set={set} />
        <div className="mb-4 flex flex-wrap items-center gap-2">
          <Button icon={Plus} onClick={addPanel}>
            {t("Add panel")}
          </Button>
          <Button icon={ListFilter} onClick={() => setOpened({ filter: newFilter(filters), isNew: true })}>
            {t("Add filter")}
          </Button>
          {filters.map((filter) => (
            <Button key={filter.key} kind="quiet" onClick={() => setOpened({ filter, isNew: false })}>
              {t("Filter: {label}", { label: filter.label })}
            </Button>
          ))}
        </div>
        {panels.length === 0 ? (
          <div className="card">
            <Empty icon={LayoutDashboard} title={t("No panels yet")}>
              {t("Each panel shows the result of an SQL query.")}
            </Empty>
          </div>
        ) : (
          <EditGrid
            panels={panels}
            filters={filters}
            queries={queries}
            onChange={(next) => set({ panels: next })}
            onEdit={(panel) => setOpened({ panel, isNew: false })}
            onRemove={({ key }) => set({ panels: without(panels, key) })}
          />
        )}
      </Locked>
      {opened && "panel" in opened && (
        <PanelDialog
          {...opened}
          filters={filters}
          queries={queries}
          onClose={close}
          onSave={(panel) => {
            const next = opened.isNew
              ? [...panels, panel]
              : panels.map((each) => (each.key === panel.key ? panel : each));
            set({ panels: moved(next, panel.key, { x: panel.x, width: panel.width }) });
            close();
          }}
        />
      )}
      {opened && "filter" in opened && (
        <FilterDialog
          {...opened}
          taken={filters.filter((each) => each !== opened.filter).map(({ key }) => key)}
          onClose={close}
          onRemove={() => {
            set({ filters: filters.filter((each) => each !== opened.filter) });
            close();
          }}
          onSave={(filter) => {
            set({
              filters: opened.isNew
                ? [...filters, filter]
                : filters.map((each) => (each === opened.filter ? filter : each)),
            });
            close();
          }}
        />
      )}
    </>
  );
}

const newFilter = (filters: readonly DraftFilter[]): DraftFilter => ({
  key: freeKey("filter", filters),
  label: "",
  type: "text",
  default: null,
  options: null,
  sql: null,
});

function Facts({ draft, set }: { draft: Draft; set: (change: Partial<Draft>) => void }) {
  const { refreshSeconds } = draft;
  const isOther = refreshSeconds !== null && !REFRESHES.some(([seconds]) => seconds === refreshSeconds);
  return (
    <div className="mb-4 grid gap-3 sm:grid-cols-3">
      <TextField
        label={t("Name")}
        isRequired
        maxLength={255}
        value={draft.name}
        onChange={(name) => set({ name })}
      />
      <TextField
        label={t("Description")}
        maxLength={2048}
        value={draft.description}
        onChange={(description) => set({ description })}
      />
      <Labelled label={t("Automatic refresh")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={refreshSeconds ?? ""}
            onChange={({ target: { value } }) => set({ refreshSeconds: value === "" ? null : Number(value) })}
          >
            <option value="">{t("Off")}</option>
            {isOther && (
              <option value={refreshSeconds}>
                {t("Every {refreshSeconds} seconds", { refreshSeconds })}
              </option>
            )}
            {REFRESHES.map(([seconds, name]) => (
              <option key={seconds} value={seconds}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    </div>
  );
}
