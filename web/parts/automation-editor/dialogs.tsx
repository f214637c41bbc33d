import { Plus, X } from "lucide-react";
import { useState } from "react";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { keyNames } from "../base/key-names.ts";
import { TextField } from "../base/labelled.tsx";
import { plural } from "../base/plural.ts";
import { dependencyText, linksOf, TRIGGER } from "../canvas/config.ts";
import { COMMANDS, OTHER_KEYS } from "../canvas/keyboard.ts";
import type { StepValue } from "../canvas/steps-config.ts";
import type { Spot } from "../canvas/ui.ts";

/** All shortcuts of the canvas. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  const rows = [...COMMANDS.map(({ keys, name }) => [keys, name] as const), ...OTHER_KEYS];
  return (
    <Dialog title={t("Keys of the canvas")} isWide onClose={onClose}>
      <p className="mb-3 text-soft">{t("They work while a step has the focus. Press Tab to reach it.")}</p>
      <dl className="grid gap-x-8 gap-y-1.5 sm:grid-cols-2">
        {rows.map(([keys, name]) => (
          <div key={keys} className="flex items-baseline gap-3">
            <dt className="w-52 shrink-0">
              <kbd className="rounded border border-line bg-sunken px-1.5 py-0.5 font-sans text-xs whitespace-nowrap">
                {keyNames(keys)}
              </kbd>
            </dt>
            <dd>{name}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

interface EdgesProps {
  step: string;
  steps: readonly StepValue[];
  nameOf: (key: string) => string;
  onAdd: (spot: Spot) => void;
  onDisconnect: (source: string, target: string) => void;
  onGo: (key: string) => void;
  onClose: () => void;
}

/** The edges of a step as a list, for use with the keyboard. */
export function EdgesDialog({ step, steps, nameOf, onAdd, onDisconnect, onGo, onClose }: EdgesProps) {
  const links = linksOf(steps).filter(({ source, target }) => source === step || target === step);
  return (
    <Dialog title={t("Edges of {name}", { name: nameOf(step) })} onClose={onClose}>
      {links.length === 0 && <p className="text-soft">{t("No edges")}</p>}
      <ul className="space-y-1">
        {links.map((link) => {
          const { id, source, target, branch } = link;
          const other = source === step ? target : source;
          const name =
            branch === null ? nameOf(other) : t("{name}, branch {branch}", { name: nameOf(other), branch });
          const words = source === step ? t("To {name}", { name }) : t("From {name}", { name });
          const dependency = dependencyText(link);
          return (
            <li key={id} className="flex items-center gap-1">
              <button
                type="button"
                className="min-h-7 min-w-0 grow truncate rounded px-2 text-left hover:bg-sunken"
                title={t("Go to {name}", { name: nameOf(other) })}
                onClick={() => onGo(other)}
              >
                {words}
              </button>
              <IconButton
                icon={Plus}
                label={t("Insert a step: {words}", { words })}
                onClick={() => onAdd({ source: dependency, target })}
              />
              {source !== TRIGGER && (
                <IconButton
                  icon={X}
                  label={t("Remove the edge: {words}", { words })}
                  onClick={() => onDisconnect(dependency, target)}
                />
              )}
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}

interface NameProps {
  title: string;
  label: string;
  verb: string;
  value: string;
  onSave: (name: string) => void;
  onClose: () => void;
}

/** Asks for a name. */
export function NameDialog({ title, label, verb, value, onSave, onClose }: NameProps) {
  const [name, setName] = useState(value);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" disabled={name.trim() === ""} onClick={() => onSave(name.trim())}>
            {verb}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== "") onSave(name.trim());
        }}
      >
        <TextField label={label} value={name} onChange={setName} maxLength={200} autoFocus />
      </form>
    </Dialog>
  );
}

interface UnguardedProps {
  steps: readonly StepValue[];
  onRemoveAll: () => void;
  onKeep: () => void;
  onClose: () => void;
}

/** Warns about steps on a branch of a removed step, which would then always run. */
export function UnguardedDialog({ steps, onRemoveAll, onKeep, onClose }: UnguardedProps) {
  const names = steps.map(({ key, name }) => name ?? key).join(", ");
  return (
    <Dialog
      title={t("Remove the steps on its branches too?")}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button onClick={onKeep}>{t("Always run them")}</Button>
          <Button kind="bad" onClick={onRemoveAll}>
            {t("Remove them too")}
          </Button>
        </>
      }
    >
      <p className="text-soft">
        {plural(
          steps.length,
          {
            one: "This step runs only on one branch of it: {names}.",
            other: "# steps run only on one branch of it: {names}.",
          },
          { names },
        )}
      </p>
    </Dialog>
  );
}
