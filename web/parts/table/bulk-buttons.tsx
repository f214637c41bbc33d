import { Power, PowerOff, Tag, Trash2 } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { type BulkTexts, useBulk } from "./bulk.ts";
import { MoveToFolder, type Moving } from "./folders.tsx";
import { aboutTags, TagProposals, tagsIn } from "./tags.tsx";

export interface Switched {
  id: string;
  name: string;
  status: string;
  tags: string[];
}

export type Change = { status: "active" | "disabled" } | { tags: string[] };

interface Props<T extends Switched> {
  chosen: readonly T[];
  /** Clears the selection. */
  onDone: () => void;
  touches: Parameters<typeof useBulk>[2];
  change: (item: T, body: Change) => Promise<unknown>;
  moving: Moving<T>;
  remove: (item: T) => Promise<unknown>;
  texts: { enabled: BulkTexts; disabled: BulkTexts; tagged: BulkTexts; deleted: BulkTexts };
  /** Texts of the confirmation before deleting. */
  deleting: { title: string; about: ReactNode };
  children?: ReactNode;
}

/** Enables, disables, tags and deletes selected resources. */
export function BulkButtons<T extends Switched>(props: Props<T>) {
  const { chosen, change, touches, texts, deleting } = props;
  const [open, setOpen] = useState<"tags" | "delete" | null>(null);
  const enable = useBulk((item: T) => change(item, { status: "active" }), texts.enabled, touches);
  const disable = useBulk((item: T) => change(item, { status: "disabled" }), texts.disabled, touches);
  const remove = useBulk(props.remove, texts.deleted, touches);
  const off = chosen.filter(({ status }) => status === "disabled");
  const on = chosen.filter(({ status }) => status === "active");
  return (
    <>
      {off.length > 0 && (
        <Button icon={Power} busy={enable.isBusy} onClick={() => void enable.run(off)}>
          {t("Enable")}
        </Button>
      )}
      {on.length > 0 && (
        <Button icon={PowerOff} busy={disable.isBusy} onClick={() => void disable.run(on)}>
          {t("Disable")}
        </Button>
      )}
      <Button icon={Tag} onClick={() => setOpen("tags")}>
        {t("Edit tags")}
      </Button>
      <MoveToFolder chosen={chosen} moving={props.moving} />
      {props.children}
      <Button kind="bad" icon={Trash2} onClick={() => setOpen("delete")}>
        {t("Delete")}
      </Button>
      {open === "tags" && <EditTags {...props} onClose={() => setOpen(null)} />}
      {open === "delete" && (
        <Confirm
          title={deleting.title}
          verb={t("Delete")}
          typed={String(chosen.length)}
          isBusy={remove.isBusy}
          onClose={() => setOpen(null)}
          onConfirm={() =>
            void remove.run(chosen).then(() => {
              setOpen(null);
              props.onDone();
            })
          }
        >
          {deleting.about}
        </Confirm>
      )}
    </>
  );
}

function EditTags<T extends Switched>(props: Props<T> & { onClose: () => void }) {
  const { chosen, change, touches, texts, onClose } = props;
  const list = useId();
  const [added, setAdded] = useState("");
  const [removed, setRemoved] = useState("");
  const known = [...new Set(chosen.flatMap(({ tags }) => tags))].sort();
  const tag = useBulk(
    (item: T) =>
      change(item, {
        tags: [...new Set([...item.tags.filter((each) => each !== removed), ...tagsIn(added)])],
      }),
    texts.tagged,
    touches,
  );
  return (
    <Dialog
      title={t("Edit tags")}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            kind="main"
            busy={tag.isBusy}
            disabled={tagsIn(added).length === 0 && removed === ""}
            onClick={() => void tag.run(chosen).then(onClose)}
          >
            {t("Save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          label={t("Add tags")}
          about={aboutTags()}
          value={added}
          onChange={setAdded}
          list={list}
          maxLength={1100}
          autoFocus
        />
        <TagProposals id={list} />
        {known.length > 0 && (
          <Labelled label={t("Remove tag")}>
            {(wiring) => (
              <select
                {...wiring}
                className="field"
                value={removed}
                onChange={({ target }) => setRemoved(target.value)}
              >
                <option value="">{t("None")}</option>
                {known.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            )}
          </Labelled>
        )}
      </div>
    </Dialog>
  );
}
