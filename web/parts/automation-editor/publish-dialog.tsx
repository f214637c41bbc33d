import { useMemo, useState } from "react";
import type { Automation } from "../../calls.ts";
import { useApi, useMe } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { personName } from "../base/person.ts";
import { plural } from "../base/plural.ts";
import { TRIGGER } from "../canvas/config.ts";
import { diff } from "../canvas/patch.ts";
import { changeName, type StepChange } from "../canvas/states.ts";
import { Comparison, changeOf } from "./comparison.tsx";
import type { DraftState } from "./draft.ts";

interface Props {
  automation: Automation;
  state: DraftState;
  titleOf: (kind: string) => string;
  nameOf: (key: string) => string;
  /** Publishes all changes, or only the named ones. */
  onPublish: (only?: readonly string[]) => Promise<void>;
  onClose: () => void;
}

interface Change {
  /** As in the draft's `changedBy`. */
  readonly id: string;
  /** Title of the card on the canvas. */
  readonly step: string;
  readonly name: string;
  readonly how: StepChange;
  /** The user who made it. Null if no longer known. */
  readonly by: string | null;
}

/** Lists the changes of a draft, and who made each. */
function changesOf({ active, history, draft }: DraftState, nameOf: Props["nameOf"]): Change[] {
  const { steps, fields } = diff(active, history.config, "");
  const by = (id: string) => draft?.changedBy[id] ?? null;
  return [
    ...[...steps].map(([key, change]) => ({
      id: key,
      step: key,
      name: change.to?.name ?? change.from?.name ?? nameOf(key),
      how: changeOf(change),
      by: by(key),
    })),
    ...[...fields].map(([name, change]) => ({
      id: `$${name}`,
      step: TRIGGER,
      name: t("Setting {name}", { name }),
      how: changeOf(change),
      by: by(`$${name}`),
    })),
  ];
}

/** Lists the changes in a shared draft by user, and publishes all or only the user's own. */
export function PublishDialog({ automation, state, titleOf, nameOf, onPublish, onClose }: Props) {
  const { user } = useMe();
  const team = useApi("GET /api/v1/organizations/team", {});
  const changes = useMemo(() => changesOf(state, nameOf), [state, nameOf]);
  const [chosen, setChosen] = useState(changes[0]?.step ?? null);
  const names = new Map(team.data?.members.map((member) => [member.userId, personName(member)]));
  const people = [...new Set(changes.map(({ by }) => by))].sort(
    (a, b) => Number(b === user?.id) - Number(a === user?.id),
  );
  const mine = changes.filter(({ by }) => by !== null && by === user?.id).map(({ id }) => id);
  const nameOfPerson = (id: string | null) =>
    id !== null && id === user?.id ? t("You") : (names.get(id ?? "") ?? t("Someone who left"));
  return (
    <Dialog
      title={t("Publish everyone's changes?")}
      isWide
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          {mine.length > 0 && mine.length < changes.length && (
            <Button onClick={() => void onPublish(mine)}>{t("Publish only mine")}</Button>
          )}
          <Button kind="main" onClick={() => void onPublish()}>
            {t("Publish all")}
          </Button>
        </>
      }
    >
      <div className="grid gap-4 sm:grid-cols-[13rem_minmax(0,1fr)]">
        <div className="max-h-[60vh] space-y-3 overflow-y-auto">
          {people.map((person) => {
            const own = changes.filter(({ by }) => by === person);
            return (
              <section key={person ?? ""} aria-label={t("Changes by {name}", { name: nameOfPerson(person) })}>
                <h3 className="mb-1 flex gap-2 text-sm font-medium">
                  <span className="min-w-0 grow truncate" dir="auto">
                    {nameOfPerson(person)}
                  </span>
                  <span className="shrink-0 text-xs font-normal text-soft">
                    {plural(own.length, { one: "# change", other: "# changes" })}
                  </span>
                </h3>
                <ul>
                  {own.map(({ id, step, name, how }) => (
                    <li key={id}>
                      <button
                        type="button"
                        aria-pressed={chosen === step}
                        onClick={() => setChosen(step)}
                        className={`flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-left text-sm ${chosen === step ? "bg-accent-soft" : "hover:bg-sunken"}`}
                      >
                        <span className="min-w-0 grow truncate" dir="auto" title={name}>
                          {name}
                        </span>
                        <span className="shrink-0 text-xs text-soft">{changeName(how)}</span>
                      </button>
                    </li>
                  ))}
                </ul>
              </section>
            );
          })}
        </div>
        <Comparison
          automation={automation}
          before={state.active}
          after={state.history.config}
          titleOf={titleOf}
          words={t("The draft, compared with the active version")}
          chosen={chosen}
          onChoose={setChosen}
        />
      </div>
    </Dialog>
  );
}
