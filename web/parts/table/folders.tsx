import { Folder, FolderInput } from "lucide-react";
import { useId, useState } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { type BulkTexts, useBulk } from "./bulk.ts";
import type { Filters } from "./table.tsx";
import { isFolder, pathIn, useFolders } from "./tags.tsx";

/** Where in the folders a list is, and the folders below. Nothing where there are none. */
export function FolderBar({ noun, filters }: { noun: "automations" | "actions"; filters: Filters }) {
  const path = pathIn(filters.get("folder"));
  const folders = useFolders().filter((each) => each[noun] > 0);
  if (path === "" && folders.length === 0) return null;
  const names = path.split("/").slice(1);
  const open = (to: string) => filters.set("folder", to);
  return (
    <nav
      aria-label={t("Folders")}
      className="flex flex-wrap items-center gap-x-1 gap-y-1.5 border-b border-line px-3 py-2 text-sm"
    >
      {path !== "" && (
        <>
          <button type="button" className="text-accent hover:underline" onClick={() => open("")}>
            {t("All")}
          </button>
          {names.map((name, at) => {
            const to = `/${names.slice(0, at + 1).join("/")}`;
            return (
              <span key={to} className="flex items-center gap-1" dir="auto">
                <span aria-hidden className="text-soft">
                  /
                </span>
                {to === path ? (
                  <span aria-current="page" className="font-medium">
                    {name}
                  </span>
                ) : (
                  <button type="button" className="text-accent hover:underline" onClick={() => open(to)}>
                    {name}
                  </button>
                )}
              </span>
            );
          })}
          <span className="w-2" />
        </>
      )}
      {folders
        .filter((each) => each.path.slice(0, each.path.lastIndexOf("/")) === path)
        .map(({ path: own, [noun]: count }) => (
          <button
            key={own}
            type="button"
            onClick={() => open(own)}
            className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line px-2 hover:bg-sunken"
          >
            <Folder size={14} aria-hidden className="shrink-0 text-soft" />
            <span dir="auto">{own.slice(path.length + 1)}</span>
            <span className="text-xs text-soft">{count}</span>
          </button>
        ))}
    </nav>
  );
}

interface MoveProps<T> {
  chosen: readonly T[];
  change: (item: T, body: { tags: string[] }) => Promise<unknown>;
  texts: BulkTexts;
  touches: Parameters<typeof useBulk>[2];
}

/** Moves what is chosen into a folder, or out of all. */
export function MoveToFolder<T extends { id: string; name: string; tags: string[] }>(props: MoveProps<T>) {
  const { chosen, change, texts, touches } = props;
  const list = useId();
  const [text, setText] = useState<string | null>(null);
  const known = useFolders();
  const path = pathIn(text ?? "");
  const move = useBulk(
    (item: T) =>
      change(item, { tags: [...item.tags.filter((tag) => !isFolder(tag)), ...(path === "" ? [] : [path])] }),
    texts,
    touches,
  );
  return (
    <>
      <Button icon={FolderInput} onClick={() => setText(chosen[0]?.tags.find(isFolder) ?? "")}>
        {t("Move to folder")}
      </Button>
      {text !== null && (
        <Dialog
          title={t("Move to folder")}
          onClose={() => setText(null)}
          foot={
            <>
              <Button onClick={() => setText(null)}>{t("Cancel")}</Button>
              <Button
                kind="main"
                busy={move.isBusy}
                disabled={path.length > 50}
                onClick={() => void move.run(chosen).then(() => setText(null))}
              >
                {t("Move")}
              </Button>
            </>
          }
        >
          <TextField
            label={t("Folder")}
            about={t("Such as /finance/eu. Leave empty for none.")}
            value={text}
            onChange={setText}
            list={list}
            maxLength={50}
            autoFocus
          />
          <datalist id={list}>
            {known.map(({ path: each }) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </Dialog>
      )}
    </>
  );
}
