import {
  ArrowLeft,
  Braces,
  History as HistoryIcon,
  List,
  Play,
  Redo2,
  TriangleAlert,
  Undo2,
  Workflow,
} from "lucide-react";
import { Link } from "wouter";
import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { keyNames } from "../base/key-names.ts";
import { Menu } from "../base/menu.tsx";
import { plural } from "../base/plural.ts";
import type { DraftState } from "./draft.ts";

export type View = "canvas" | "list" | "json";

interface Props {
  automation: Automation;
  state: DraftState;
  /** True if the draft differs from the published config. */
  differs: boolean;
  faults: number;
  view: View;
  mayChange: boolean;
  isPublishing: boolean;
  canPublish: boolean;
  onView: (view: View) => void;
  onUndo: () => void;
  onRedo: () => void;
  onFault: () => void;
  onVersions: () => void;
  onTest: () => void;
  onDiscard: () => void;
  onPublish: () => void;
}

const SAVING: Readonly<Record<DraftState["saving"], string>> = {
  saved: t("Draft saved"),
  changed: t("Unsaved changes"),
  saving: t("Saving…"),
  failed: t("Not saved"),
};

/** Describes what is shown: the published config, or a draft and whether it is saved. */
const standing = (state: DraftState, { status }: Automation, differs: boolean): string => {
  if (state.saving !== "saved" || differs) return SAVING[state.saving];
  return status === "draft" ? t("Not active yet") : t("No changes");
};

export function TopBar(props: Props) {
  const { automation, state, differs, faults, view, mayChange, isPublishing, canPublish } = props;
  const { past, future } = state.history;
  const views: readonly (readonly [View, string, typeof List])[] = [
    ["canvas", t("Canvas"), Workflow],
    ["list", t("List"), List],
    ["json", "JSON", Braces],
  ];
  return (
    <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-1.5 border-b border-line bg-raised px-2 py-1">
      <Link
        href={`/automations/${automation.id}`}
        aria-label={t("Back to the automation")}
        title={t("Back to the automation")}
        className="grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-sunken hover:text-ink"
      >
        <ArrowLeft size={16} aria-hidden />
      </Link>
      <h1 className="max-w-[50vw] min-w-0 truncate text-sm font-semibold sm:max-w-xs" dir="auto">
        {automation.name}
      </h1>
      <span
        role="status"
        title={state.problem ?? undefined}
        className={`rounded-full px-2 py-0.5 text-xs whitespace-nowrap ${state.saving === "failed" ? "bg-bad-soft text-bad" : differs ? "bg-warn-soft text-warn" : "bg-idle-soft text-idle"}`}
      >
        {standing(state, automation, differs)}
      </span>
      {differs && mayChange && (
        <span className="text-xs text-soft max-lg:hidden">
          {automation.status === "draft" ? t("not active yet") : t("differs from the active version")}
        </span>
      )}
      <span className="grow" />
      {faults > 0 && (
        <Button kind="bad" icon={TriangleAlert} onClick={props.onFault}>
          {plural(faults, { one: "# fault", other: "# faults" })}
        </Button>
      )}
      {mayChange && (
        <span className="flex">
          <IconButton
            icon={Undo2}
            label={past.length > 0 ? t("Undo: {label}", { label: past.at(-1)?.label ?? "" }) : t("Undo")}
            disabled={past.length === 0}
            onClick={props.onUndo}
          />
          <IconButton
            icon={Redo2}
            label={future.length > 0 ? t("Redo: {label}", { label: future.at(-1)?.label ?? "" }) : t("Redo")}
            disabled={future.length === 0}
            onClick={props.onRedo}
          />
        </span>
      )}
      <fieldset className="inline-flex rounded-md border border-strong-line p-0.5">
        <legend className="sr-only">{t("View")}</legend>
        {views.map(([id, name, Icon]) => (
          <button
            key={id}
            type="button"
            aria-pressed={view === id}
            aria-label={name}
            title={name}
            onClick={() => props.onView(id)}
            className={`grid size-7 place-items-center rounded ${view === id ? "bg-accent-soft text-accent-strong" : "text-soft hover:text-ink"}`}
          >
            <Icon size={15} aria-hidden />
          </button>
        ))}
      </fieldset>
      <Button icon={HistoryIcon} onClick={props.onVersions}>
        <span className="max-sm:sr-only">{t("Versions")}</span>
      </Button>
      {mayChange && (
        <Button icon={Play} onClick={props.onTest}>
          <span className="max-sm:sr-only">{t("Test|verb")}</span>
        </Button>
      )}
      {mayChange && (
        <Button
          kind="main"
          busy={isPublishing}
          disabled={!canPublish}
          aria-keyshortcuts="Control+Shift+Enter"
          title={keyNames("Ctrl+Shift+Enter")}
          onClick={props.onPublish}
        >
          {t("Publish")}
        </Button>
      )}
      {mayChange && state.draft !== null && (
        <Menu
          label={t("More")}
          button="⋯"
          buttonClass="grid size-8 place-items-center rounded-md text-soft hover:bg-sunken hover:text-ink"
          align="right"
          items={[{ name: t("Discard draft"), isBad: true, onPick: props.onDiscard }]}
        />
      )}
    </header>
  );
}
