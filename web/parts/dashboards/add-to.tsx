import { LayoutDashboard } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { type NewPanel, useAdd } from "./adding.ts";
import { pathOf } from "./found.ts";
import { namesOf } from "./values.ts";

const LIMIT = 100;
const NEW = "";

interface Props {
  /** The panels to add. */
  panels: readonly NewPanel[];
  /** A name for a new dashboard. */
  name: string;
  disabled?: boolean;
}

/** Adds panels to an existing or a new dashboard. */
export function AddToDashboard(props: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon={LayoutDashboard} disabled={props.disabled} onClick={() => setOpen(true)}>
        {t("Add to dashboard")}
      </Button>
      {isOpen && <AddDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function AddDialog({ panels, name: defaultName, onClose }: Props & { onClose: () => void }) {
  const [, go] = useLocation();
  const [q, setQ] = useState("");
  const [id, setId] = useState(NEW);
  const [name, setName] = useState(defaultName);
  const [chosen, setChosen] = useState(() => panels.map((panel) => ({ panel, isIn: true })));
  const listed = useApi("GET /api/v1/dashboards", { query: { limit: LIMIT, ...(q ? { q } : {}) } });
  const found = listed.data?.dashboards ?? [];
  const target = found.find((each) => each.id === id);
  const taken = chosen.filter(({ isIn }) => isIn).map(({ panel }) => panel);
  const add = useAdd((dashboard) => go(pathOf(dashboard)));
  const hasTitles = taken.length > 0 && taken.every(({ title }) => title.trim() !== "");
  const put = (at: number, change: Partial<(typeof chosen)[number]>) =>
    setChosen(chosen.map((each, place) => (place === at ? { ...each, ...change } : each)));
  const filtered = (target?.filters ?? [])
    .flatMap(namesOf)
    .filter((each) => taken.some(({ parameters }) => Object.hasOwn(parameters, each)));
  return (
    <Dialog
      title={t("Add to dashboard")}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            kind="main"
            busy={add.isPending}
            disabled={!hasTitles || (!target && name.trim() === "")}
            onClick={() => add.mutate({ id: target?.id ?? null, name, panels: taken })}
          >
            {t("Add to dashboard")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {(q !== "" || listed.data?.hasNext) && (
          <TextField label={t("Find a dashboard")} maxLength={255} value={q} onChange={setQ} />
        )}
        <Labelled label={t("Dashboard")}>
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={target ? id : NEW}
              onChange={(event) => setId(event.target.value)}
            >
              <option value={NEW}>{t("New dashboard")}</option>
              {found.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.name}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        {!target && (
          <TextField label={t("Name")} isRequired maxLength={255} value={name} onChange={setName} />
        )}
        {chosen.map(({ panel, isIn }, at) =>
          chosen.length === 1 ? (
            <TextField
              key="only"
              label={t("Panel title")}
              isRequired
              maxLength={255}
              value={panel.title}
              onChange={(title) => put(at, { panel: { ...panel, title } })}
            />
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: panels have no IDs
            <label key={at} className="flex items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={isIn}
                onChange={({ target: { checked } }) => put(at, { isIn: checked })}
              />
              <span dir="auto" className="[overflow-wrap:anywhere]">
                {panel.title}
              </span>
            </label>
          ),
        )}
        {filtered.length > 0 && (
          <p className="text-soft">
            {t("The dashboard's filters set {names} instead of the values used here.", {
              names: filtered.map((each) => `$${each}`).join(", "),
            })}
          </p>
        )}
        {add.error && (
          <p role="alert" className="text-xs text-bad">
            {add.error.message}
          </p>
        )}
      </div>
    </Dialog>
  );
}
