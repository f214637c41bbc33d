import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { Boxes, Minimize2, X } from "lucide-react";
import { memo, useContext, useState } from "react";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { INK, StatusIcon, type StatusWord, styleOf } from "../base/status.tsx";
import { HEIGHT } from "./arrange.ts";
import { ActionsContext, useUi } from "./ui.ts";

interface NoteData extends Record<string, unknown> {
  text: string;
  mayChange: boolean;
}
export type NoteNodeType = Node<NoteData, "note">;

export const NOTE_WIDTH = 200;

/** A note next to the steps, which is stored with the layout. */
export const NoteNode = ({ id, data }: NodeProps<NoteNodeType>) => <NoteCard id={id} data={data} />;

const NoteCard = memo(function NoteCard({ id, data }: Pick<NodeProps<NoteNodeType>, "id" | "data">) {
  const actions = useContext(ActionsContext);
  const [draft, setDraft] = useState<string | null>(null);
  const own = id.slice("note:".length);
  return (
    <div
      className="group/note relative rounded-lg border border-warn/40 bg-warn-soft p-2 text-sm text-ink shadow-sm"
      style={{ width: NOTE_WIDTH }}
    >
      {data.mayChange ? (
        <textarea
          aria-label={t("Note")}
          data-note={own}
          className="nodrag nowheel block field-sizing-content min-h-12 w-full resize-none rounded bg-transparent outline-offset-2"
          value={draft ?? data.text}
          maxLength={10_000}
          placeholder={t("Write a note")}
          onChange={(event) => setDraft(event.target.value)}
          onBlur={() => {
            if (draft !== null && draft !== data.text) actions.writeNote(own, draft);
            setDraft(null);
          }}
        />
      ) : (
        <p dir="auto" className="whitespace-pre-wrap">
          {data.text}
        </p>
      )}
      {data.mayChange && (
        <button
          type="button"
          aria-label={t("Remove note")}
          onClick={() => actions.removeNote(own)}
          className="absolute -top-2.5 -right-2.5 grid size-6 place-items-center rounded-full border border-strong-line bg-raised text-soft opacity-0 group-focus-within/note:opacity-100 group-hover/note:opacity-100 hover:text-bad"
        >
          <X size={13} aria-hidden />
        </button>
      )}
    </div>
  );
});

interface GroupData extends Record<string, unknown> {
  title: string;
  count: number;
  status: StatusWord | null;
  label: string;
}
export type GroupNodeType = Node<GroupData, "group">;

/** A collapsed group: one card, with the worst state of its steps. */
export const GroupNode = ({ id, data, selected, sourcePosition }: NodeProps<GroupNodeType>) => (
  <GroupCard id={id} data={data} selected={selected} sourcePosition={sourcePosition} />
);

const GroupCard = memo(function GroupCard({
  id,
  data: { title, count, status, label },
  selected,
  sourcePosition = Position.Bottom,
}: Pick<NodeProps<GroupNodeType>, "id" | "data" | "selected" | "sourcePosition">) {
  const isAcross = sourcePosition === Position.Right;
  const actions = useContext(ActionsContext);
  const isTabStop = useUi(({ tabStop }) => tabStop === id);
  const border = status ? INK[styleOf(status).tone] : "text-strong-line";
  return (
    <div className="relative size-full">
      <Handle
        type="target"
        position={isAcross ? Position.Left : Position.Top}
        isConnectable={false}
        className="opacity-0"
      />
      <button
        type="button"
        data-step={id}
        tabIndex={isTabStop ? 0 : -1}
        title={t("Expand {name}", { name: title })}
        onDoubleClick={() => actions.expand(id.slice("group:".length))}
        onClick={() => actions.choose(id)}
        className={`absolute inset-x-0 top-0 flex items-center gap-2.5 rounded-[10px] border-2 border-double border-current bg-sunken px-2.5 text-left ${border} ${selected ? "ring-2 ring-accent" : ""}`}
        style={{ height: HEIGHT }}
      >
        <Boxes size={18} aria-hidden className="shrink-0 text-soft" />
        <span className="min-w-0 grow text-ink">
          <span className="line-clamp-2 text-sm leading-[1.15rem] font-medium" dir="auto">
            {title}
          </span>
          <span className="block text-xs text-soft">
            {plural(count, { one: "# step", other: "# steps" })}
          </span>
          <span className="sr-only">{label}</span>
        </span>
        {status && <StatusIcon status={status} />}
      </button>
      <Handle type="source" position={sourcePosition} isConnectable={false} className="opacity-0" />
    </div>
  );
});

interface FrameData extends Record<string, unknown> {
  group: string;
  title: string;
  mayChange: boolean;
}
export type FrameNodeType = Node<FrameData, "frame">;

/** Frame around the steps of an expanded group. */
export const FrameNode = ({ data: { group, title, mayChange } }: NodeProps<FrameNodeType>) => {
  const actions = useContext(ActionsContext);
  return (
    <div className="size-full rounded-2xl border border-dashed border-strong-line bg-sunken/60">
      <p className="flex items-center gap-2 px-3 py-0.5 text-xs font-medium text-soft">
        <span className="min-w-0 grow truncate" dir="auto">
          {title}
        </span>
        {mayChange && (
          <>
            <button
              type="button"
              aria-label={t("Collapse {name}", { name: title })}
              onClick={() => actions.expand(group)}
              className="nodrag grid size-6 place-items-center rounded hover:bg-line hover:text-ink"
            >
              <Minimize2 size={13} aria-hidden />
            </button>
            <button
              type="button"
              aria-label={t("Ungroup {title}", { title })}
              onClick={() => actions.ungroup(group)}
              className="nodrag grid size-6 place-items-center rounded hover:bg-line hover:text-bad"
            >
              <X size={13} aria-hidden />
            </button>
          </>
        )}
      </p>
    </div>
  );
};
