import { Play, Trash2 } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Renewed } from "../base/locked.tsx";
import { PageHead, useTab } from "../base/page.tsx";
import { readJson } from "../base/read-json.ts";
import { Status, type StatusWord } from "../base/status.tsx";
import { jsonProblem } from "../base/texts.ts";
import { Code } from "../editor/code.tsx";

interface Props {
  deleteLabel: string;
  /** Parent list: path and name. */
  from: readonly [href: string, name: string];
  of: { name: string; slug: string; status: StatusWord };
  /** Shown next to the status. */
  beside?: ReactNode;
  /** A sentence below the title. */
  about?: ReactNode;
  /** Text before the slug, and details after it. */
  what: ReactNode;
  known?: ReactNode;
  /** Actions of members, except deleting it. */
  actions: ReactNode;
  remove: (onClose: () => void) => ReactNode;
  alert?: ReactNode;
  /** A tab is omitted if its last element is false. */
  tabs: readonly (readonly [id: string, name: string, draw: (() => ReactNode) | false])[];
}

/** Page of a resource: name, status, actions and tabs. */
export function Detail({ deleteLabel, from, of, tabs, ...rest }: Props) {
  const may = useMay("member");
  const [isRemoving, setRemoving] = useState(false);
  const shown = useTab(tabs.filter(([, , draw]) => draw).map(([id, name]) => [id, name] as const));
  const draw = tabs.find(([id]) => id === shown.current)?.[2];
  return (
    <>
      <PageHead
        title={of.name}
        from={[from]}
        beside={
          <>
            <Status status={of.status} />
            {rest.beside}
          </>
        }
        about={
          <>
            {rest.about}
            <span className="flex flex-wrap items-center gap-x-3">
              <span>{rest.what}</span>
              <Mono text={of.slug} />
              {rest.known && <span>{rest.known}</span>}
            </span>
          </>
        }
      >
        {may && (
          <>
            <IconButton icon={Trash2} label={deleteLabel} onClick={() => setRemoving(true)} />
            {rest.actions}
          </>
        )}
      </PageHead>
      {rest.alert}
      {shown.bar}
      {draw ? draw() : null}
      {isRemoving && rest.remove(() => setRemoving(false))}
    </>
  );
}

interface SwitchProps {
  isOff: boolean;
  isBusy: boolean;
  onSwitch: (status: "active" | "disabled") => void;
  /** A confirmation dialog before it runs. */
  dialog: (onClose: () => void) => ReactNode;
}

/** Actions of something that runs: enable, disable and run. */
export function SwitchAndRun({ isOff, isBusy, onSwitch, dialog }: SwitchProps) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button busy={isBusy} onClick={() => onSwitch(isOff ? "active" : "disabled")}>
        {isOff ? t("Enable") : t("Disable")}
      </Button>
      <Button kind="main" icon={Play} disabled={isOff} onClick={() => setAsks(true)}>
        {t("Run|verb")}
      </Button>
      {asks && dialog(() => setAsks(false))}
    </>
  );
}

interface RunProps {
  name: string;
  /** Purpose of the JSON. */
  about: ReactNode;
  label: string;
  /** The initial JSON. */
  initial?: string;
  run: { error: Error | null; isPending: boolean };
  /** Receives the value. Undefined for none. */
  onRun: (value: unknown) => void;
  onClose: () => void;
  children?: ReactNode;
}

/** Asks for a JSON value, and runs. */
export function RunDialog({ name, about, label, initial = "", run, onRun, onClose, children }: RunProps) {
  const [text, setText] = useState(initial);
  const [problem, setProblem] = useState<string | null>(null);
  const start = () => {
    let value: unknown;
    try {
      value = text.trim() === "" ? undefined : readJson(text);
    } catch (error) {
      return setProblem(jsonProblem(error));
    }
    setProblem(null);
    onRun(value);
  };
  return (
    <Dialog
      title={t("Run {name}", { name })}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" icon={Play} busy={run.isPending} onClick={start}>
            {t("Run|verb")}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-soft">{about}</p>
      <Code
        language="json"
        label={label}
        value={text}
        onChange={setText}
        minHeight={110}
        onSubmit={start}
        isInvalid={problem !== null}
      />
      {(problem ?? run.error) && (
        <p role="alert" className="mt-2 text-xs text-bad">
          {problem ?? run.error?.message}
        </p>
      )}
      {children}
    </Dialog>
  );
}

interface HeldProps<T> {
  of: T;
  /** Whether the form's fields are the same in both, as when only the status has changed. */
  isSame?: (before: T, after: T) => boolean;
  children: (base: T, onDirty: (isDirty: boolean) => void) => ReactNode;
}

/** Keeps unsaved input when someone else saves in the meantime. */
export function Held<T extends { updatedAt: string }>({ of, isSame, children }: HeldProps<T>) {
  const [isDirty, setDirty] = useState(false);
  const base = useRef(of);
  const formKey = useRef(of.updatedAt);
  if (isSame?.(base.current, of)) base.current = of;
  else if (!isDirty) {
    base.current = of;
    formKey.current = of.updatedAt;
  }
  return (
    <>
      {base.current.updatedAt !== of.updatedAt && (
        <p role="status" className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          {t("Someone else has edited this since you opened it. Saving overwrites the fields you changed.")}
        </p>
      )}
      <Renewed version={formKey.current}>{children(base.current, setDirty)}</Renewed>
    </>
  );
}
