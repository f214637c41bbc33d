import { RotateCcw } from "lucide-react";
import { useMemo, useState } from "react";
import type { Automation } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { useStepActions } from "../automations/actions.ts";
import { triggerCard } from "../automations/trigger-card.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Diff } from "../base/diff.tsx";
import { Loading } from "../base/page.tsx";
import { When } from "../base/time.tsx";
import { Canvas } from "../canvas/canvas.tsx";
import { inSteps, TRIGGER } from "../canvas/config.ts";
import { NO_LAYOUT } from "../canvas/layout.ts";
import { diff } from "../canvas/patch.ts";
import type { StepChange } from "../canvas/states.ts";
import { stepsIn } from "../canvas/steps-config.ts";
import type { Values } from "../form/form.tsx";
import { changesInWords } from "./draft.ts";
import { SILENT } from "./silent.ts";

interface Props {
  automation: Automation;
  /** What is on the canvas now. */
  current: Values;
  hasDraft: boolean;
  titleOf: (kind: string) => string;
  mayChange: boolean;
  onRestore: (version: number) => Promise<void>;
  onClose: () => void;
}

/** Earlier versions, each with what differs from what is on the canvas now. */
export function Versions({ automation, current, hasDraft, titleOf, mayChange, onRestore, onClose }: Props) {
  const path = { automation_id: automation.id };
  const versions = useApi("GET /api/v1/automations/{automation_id}/versions", { path, query: { limit: 50 } });
  const [chosen, setChosen] = useState<number | null>(null);
  const [isBusy, setBusy] = useState(false);
  const latest = versions.data?.versions[0]?.version ?? 0;
  const version = chosen ?? versions.data?.versions[hasDraft ? 0 : 1]?.version ?? latest;
  const whole = useApi(
    "GET /api/v1/automations/{automation_id}/versions/{version}",
    { path: { ...path, version: String(version) } },
    { enabled: version > 0 },
  );
  const restore = async () => {
    setBusy(true);
    await onRestore(version);
    setBusy(false);
  };
  return (
    <Dialog
      title={`Versions of ${automation.name}`}
      isWide
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>Close</Button>
          {mayChange && (
            <Button
              kind="main"
              icon={RotateCcw}
              busy={isBusy}
              disabled={version === 0 || (version === latest && !hasDraft)}
              onClick={() => void restore()}
            >
              Restore version {version}
            </Button>
          )}
        </>
      }
    >
      {hasDraft && (
        <p className="mb-3 text-soft">Restoring a version discards the draft. Undo brings it back.</p>
      )}
      <div className="grid gap-4 sm:grid-cols-[13rem_minmax(0,1fr)]">
        <ul aria-label="Versions" className="max-h-[60vh] space-y-0.5 overflow-y-auto">
          {versions.data?.versions.map(({ version: each, createdAt, createdBy, changes }) => (
            <li key={each}>
              <button
                type="button"
                aria-pressed={each === version}
                onClick={() => setChosen(each)}
                className={`w-full rounded-md px-2 py-1.5 text-left text-sm ${each === version ? "bg-accent-soft" : "hover:bg-sunken"}`}
              >
                <span className="flex justify-between gap-2">
                  <span className="font-medium">
                    Version {each}
                    {each === latest && " (active)"}
                  </span>
                  <span className="text-xs text-soft">
                    <When at={createdAt} />
                  </span>
                </span>
                <span className="block truncate text-xs text-soft">
                  {[
                    personOf(versions.data?.users, createdBy),
                    changes.map(({ field }) => String(field)).join(", "),
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </span>
              </button>
            </li>
          )) ?? <Loading rows={3} />}
        </ul>
        {whole.data && (
          <Comparison
            automation={automation}
            before={inSteps((whole.data.content as { config?: Values }).config ?? {})}
            after={current}
            titleOf={titleOf}
          />
        )}
      </div>
    </Dialog>
  );
}

const personOf = (users: unknown, id: string | null): string => {
  const user = (users as Record<string, { name?: string; firstName?: string; email?: string }> | undefined)?.[
    id ?? ""
  ];
  return user?.name ?? user?.firstName ?? user?.email ?? "";
};

interface ComparisonProps {
  automation: Automation;
  before: Values;
  after: Values;
  titleOf: (kind: string) => string;
}

/** What differs between a version and what is on the canvas now: steps that are gone stay where they were. */
function Comparison({ automation, before, after, titleOf }: ComparisonProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const patch = useMemo(() => diff(before, after, ""), [before, after]);
  const steps = useMemo(
    () => [
      ...stepsIn(after),
      ...stepsIn(before).filter(({ key }) => patch.steps.get(key)?.to === undefined && patch.steps.has(key)),
    ],
    [before, after, patch],
  );
  const changes = useMemo(
    () =>
      new Map<string, StepChange>([
        ...[...patch.steps].map(
          ([key, { from, to }]) =>
            [key, from === undefined ? "added" : to === undefined ? "removed" : "changed"] as const,
        ),
        ...(patch.fields.size > 0 ? ([[TRIGGER, "changed"]] as const) : []),
      ]),
    [patch],
  );
  const trigger = useMemo(() => triggerCard(automation.triggerType, after), [automation.triggerType, after]);
  const actions = useStepActions(steps);
  const words = changesInWords(before, after);
  const change = chosen === null ? undefined : patch.steps.get(chosen);
  return (
    <div className="min-w-0 space-y-3">
      <p className="text-soft">
        {words === "" ? "No differences from the canvas" : `Since then: ${words} changed`}
      </p>
      <div className="h-72 overflow-hidden rounded-md border border-line">
        <Canvas
          steps={steps}
          name={`${automation.name}, compared`}
          trigger={trigger}
          actions={actions}
          titleOf={titleOf}
          layout={NO_LAYOUT}
          chosen={chosen}
          changes={changes}
          mayChange={false}
          on={{ ...SILENT, onChoose: setChosen, open: setChosen }}
          isEmbedded
        />
      </div>
      {change && <Diff label="Changes of the step" before={change.from ?? ""} after={change.to ?? ""} />}
      {chosen === TRIGGER &&
        [...patch.fields].map(([name, { from, to }]) => (
          <div key={name}>
            <p className="mb-1 font-medium">{name}</p>
            <Diff label={`Changes of ${name}`} before={from ?? ""} after={to ?? ""} />
          </div>
        ))}
    </div>
  );
}
