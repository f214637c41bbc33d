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
import { Button, IconButton } from "../base/button.tsx";
import { Menu } from "../base/menu.tsx";
import type { DraftState } from "./draft.ts";

export type View = "canvas" | "list" | "json";

interface Props {
  automation: Automation;
  state: DraftState;
  /** Whether the draft differs from what runs go by. */
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
  saved: "Draft saved",
  changed: "Unsaved changes",
  saving: "Saving…",
  failed: "Not saved",
};

/** What is shown, in words: what runs go by, or how far the draft is saved. */
const standing = (state: DraftState, { status }: Automation, differs: boolean): string => {
  if (state.saving !== "saved" || differs) return SAVING[state.saving];
  return status === "draft" ? "Not active yet" : "No changes";
};

export function TopBar(props: Props) {
  const { automation, state, differs, faults, view, mayChange, isPublishing, canPublish } = props;
  const { past, future } = state.history;
  const views: readonly (readonly [View, string, typeof List])[] = [
    ["canvas", "Canvas", Workflow],
    ["list", "List", List],
    ["json", "JSON", Braces],
  ];
  return (
    <header className="flex min-h-12 flex-wrap items-center gap-1.5 border-b border-line bg-raised px-2 py-1">
      <Link
        href={`/automations/${automation.id}`}
        aria-label="Back to the automation"
        title="Back to the automation"
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
          {automation.status === "draft" ? "not active yet" : "differs from the active version"}
        </span>
      )}
      <span className="grow" />
      {faults > 0 && (
        <Button kind="bad" icon={TriangleAlert} onClick={props.onFault}>
          {faults} {faults === 1 ? "fault" : "faults"}
        </Button>
      )}
      {mayChange && (
        <>
          <IconButton
            icon={Undo2}
            label={past.length > 0 ? `Undo: ${past.at(-1)?.label}` : "Undo"}
            disabled={past.length === 0}
            onClick={props.onUndo}
          />
          <IconButton
            icon={Redo2}
            label={future.length > 0 ? `Redo: ${future.at(-1)?.label}` : "Redo"}
            disabled={future.length === 0}
            onClick={props.onRedo}
          />
        </>
      )}
      <fieldset className="inline-flex rounded-md border border-strong-line p-0.5">
        <legend className="sr-only">View</legend>
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
        Versions
      </Button>
      {mayChange && (
        <Button icon={Play} onClick={props.onTest}>
          Test
        </Button>
      )}
      {mayChange && (
        <Button
          kind="main"
          busy={isPublishing}
          disabled={!canPublish}
          aria-keyshortcuts="Control+Shift+Enter"
          title="Ctrl+Shift+Enter"
          onClick={props.onPublish}
        >
          Publish
        </Button>
      )}
      {mayChange && state.draft !== null && (
        <Menu
          label="More"
          button="⋯"
          buttonClass="grid size-8 place-items-center rounded-md text-soft hover:bg-sunken hover:text-ink"
          align="right"
          items={[{ name: "Discard draft", isBad: true, onPick: props.onDiscard }]}
        />
      )}
    </header>
  );
}
