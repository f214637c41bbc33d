import { useState } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Diff } from "../base/diff.tsx";
import type { Conflict } from "../canvas/patch.ts";

interface Props {
  conflicts: readonly Conflict[];
  nameOf: (key: string) => string;
  onDecide: (choices: ReadonlyMap<Conflict, "mine" | "theirs">) => void;
}

const titleOf = ({ step, field, mine, theirs }: Conflict, nameOf: (key: string) => string): string => {
  if (step === null) return t("Setting {name}", { name: field });
  if (field !== "") return `${nameOf(step)}: ${field}`;
  if (mine === undefined) return t("{name}: you removed it, someone else changed it", { name: nameOf(step) });
  return theirs === undefined
    ? t("{name}: someone else removed it, you changed it", { name: nameOf(step) })
    : t("{name}: both of you added it", { name: nameOf(step) });
};

/** Two users changed the same field. Nothing is saved until each conflict is resolved. */
export default function Conflicts({ conflicts, nameOf, onDecide }: Props) {
  const [choices, setChoices] = useState<ReadonlyMap<Conflict, "mine" | "theirs">>(new Map());
  const choose = (conflict: Conflict, side: "mine" | "theirs") =>
    setChoices(new Map([...choices, [conflict, side]]));
  return (
    <Dialog
      title={t("Someone else changed this too")}
      isWide
      onClose={() => undefined}
      foot={
        <Button kind="main" disabled={choices.size < conflicts.length} onClick={() => onDecide(choices)}>
          {t("Apply")}
        </Button>
      }
    >
      <p className="mb-4 text-soft">{t("Choose which change to keep. Nothing is saved until you do.")}</p>
      <ul className="space-y-5">
        {conflicts.map((conflict) => {
          const title = titleOf(conflict, nameOf);
          return (
            <li key={`${conflict.step}.${conflict.field}`}>
              <fieldset>
                <legend className="mb-2 font-medium">{title}</legend>
                <div className="grid gap-3 sm:grid-cols-2">
                  {(["mine", "theirs"] as const).map((side) => (
                    <div key={side} className="min-w-0">
                      <label className="mb-1 flex items-center gap-2">
                        <input
                          type="radio"
                          name={`${conflict.step}.${conflict.field}`}
                          className="size-4 accent-accent"
                          checked={choices.get(conflict) === side}
                          onChange={() => choose(conflict, side)}
                        />
                        {side === "mine" ? t("Your change") : t("Their change")}
                      </label>
                      <Diff
                        label={
                          side === "mine"
                            ? t("Your change of {title}", { title })
                            : t("Their change of {title}", { title })
                        }
                        before={conflict.base ?? ""}
                        after={conflict[side] ?? ""}
                      />
                    </div>
                  ))}
                </div>
              </fieldset>
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}
