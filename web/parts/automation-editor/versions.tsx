import { RotateCcw } from "lucide-react";
import { type ComponentProps, useState } from "react";
import type { Automation } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Loading } from "../base/page.tsx";
import { When } from "../base/time.tsx";
import { inSteps } from "../canvas/config.ts";
import type { Values } from "../form/form.tsx";
import { Comparison } from "./comparison.tsx";
import { changesInWords } from "./draft.ts";

interface Props {
  automation: Automation;
  /** The config on the canvas. */
  current: Values;
  hasDraft: boolean;
  titleOf: (kind: string) => string;
  mayChange: boolean;
  onRestore: (version: number) => Promise<void>;
  onClose: () => void;
}

/** Earlier versions, each with its differences from the canvas. */
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
      title={t("Versions of {name}", { name: automation.name })}
      isWide
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Close")}</Button>
          {mayChange && (
            <Button
              kind="main"
              icon={RotateCcw}
              busy={isBusy}
              disabled={version === 0 || (version === latest && !hasDraft)}
              onClick={() => void restore()}
            >
              {t("Restore version {version}", { version })}
            </Button>
          )}
        </>
      }
    >
      {hasDraft && (
        <p className="mb-3 text-soft">{t("Restoring a version discards the draft. Undo brings it back.")}</p>
      )}
      <div className="grid gap-4 sm:grid-cols-[13rem_minmax(0,1fr)]">
        <ul aria-label={t("Versions")} className="max-h-[60vh] space-y-0.5 overflow-y-auto">
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
                    {each === latest
                      ? t("Version {version} (active)", { version: each })
                      : t("Version {version}", { version: each })}
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
          <Since
            key={version}
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

type SinceProps = Pick<ComponentProps<typeof Comparison>, "automation" | "before" | "after" | "titleOf">;

/** Differences between a version and the canvas. */
function Since(props: SinceProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const words = changesInWords(props.before, props.after);
  return (
    <Comparison
      {...props}
      words={words === "" ? t("No differences from the canvas") : t("Since then: {words} changed", { words })}
      chosen={chosen}
      onChoose={setChosen}
    />
  );
}
