import { useId, useState } from "react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { stepsIn } from "../canvas/steps-config.ts";
import { Choice } from "../table/filters.tsx";
import { LinkedChip } from "../table/linked-chip.tsx";
import type { Filters } from "../table/table.tsx";

/** Maximum number of suggestions. */
const OFFERED = 20;

const useAutomation = (id: string) =>
  useApi("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } }, { enabled: id !== "" });

/** Selects an automation by name. */
export function AutomationChoice({ filters }: { filters: Filters }) {
  const chosen = filters.get("automation");
  const automation = useAutomation(chosen);
  if (chosen !== "")
    return (
      <LinkedChip filters={filters} name="automation" title={t("Automation")} shown={automation.data?.name} />
    );
  return <Search onChoose={(id) => filters.set("automation", id)} />;
}

function Search({ onChoose }: { onChoose: (id: string) => void }) {
  const [text, setText] = useState("");
  const list = useId();
  const found = useApi("GET /api/v1/automations", { query: { q: text, limit: OFFERED } }, { keep: true });
  const offered = (found.data?.automations ?? []).map(({ id, name, slug }) => ({
    id,
    shown: `${name} (${slug})`,
  }));
  return (
    <>
      <input
        className="field w-48"
        placeholder={t("Automation")}
        aria-label={t("Automation")}
        list={list}
        value={text}
        maxLength={255}
        onChange={({ target: { value } }) => {
          const match = offered.find(({ shown }) => shown === value);
          if (match) onChoose(match.id);
          else setText(value);
        }}
      />
      <datalist id={list}>
        {offered.map(({ id, shown }) => (
          <option key={id} value={shown} />
        ))}
      </datalist>
    </>
  );
}

/** Selects the step that a run failed at: a step of the selected automation, or the one in a link. */
export function StepChoice({ filters }: { filters: Filters }) {
  const automation = useAutomation(filters.get("automation"));
  if (!automation.data) return <LinkedChip filters={filters} name="step" title={t("Failed step")} />;
  return (
    <Choice
      label={t("Failed step")}
      value={filters.get("step")}
      options={stepsIn(automation.data.config).map(({ key, name }) => [key, name ?? key] as const)}
      onChange={(value) => filters.set("step", value)}
    />
  );
}
