import { Folder, FolderInput } from "lucide-react";
import { useId, useState } from "react";
import { useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { type BulkTexts, useBulk } from "./bulk.ts";
import { useDropTargets } from "./drag-rows.ts";
import type { Filters } from "./table.tsx";
import { isFolder, pathIn, useFolders } from "./tags.tsx";

interface Filed {
  id: string;
  tags: string[];
}

/** How resources are moved to folders. */
export interface Moving<T extends Filed> {
  change: (item: T, body: { tags: string[] }) => Promise<unknown>;
  texts: BulkTexts;
  touches: Parameters<typeof useBulk>[2];
}

/** Moves resources to a folder, or out of all folders with an empty path. */
function useMove<T extends Filed>({ change, texts, touches }: Moving<T>) {
  const { isBusy, run } = useBulk(
    ([item, path]: readonly [T, string]) =>
      change(item, { tags: [...item.tags.filter((tag) => !isFolder(tag)), ...(path === "" ? [] : [path])] }),
    texts,
    touches,
  );
  return { isBusy, move: (items: readonly T[], path: string) => run(items.map((item) => [item, path])) };
}

interface BarProps<T extends Filed> {
  noun: "automations" | "actions";
  filters: Filters;
  /** Rows of the list below, which can be dropped on the folders. */
  rows: readonly T[];
  moving: Moving<T>;
}

/** The current folder of a list, and its subfolders. Null if there are none. */
export function useFolderBar<T extends Filed>({ noun, filters, rows, moving }: BarProps<T>) {
  const path = pathIn(filters.get("folder"));
  const folders = useFolders().filter((each) => each[noun] > 0);
  const may = useMay("member");
  const { move } = useMove(moving);
  const { over, on } = useDropTargets(
    (ids, to) =>
      void move(
        rows.filter(({ id }) => ids.has(id)),
        to,
      ),
  );
  if (path === "" && folders.length === 0) return null;
  const dropOn = (to: string) => (may ? on(to) : {});
  const lit = (to: string) => (over === to ? "outline-2 outline-accent" : "");
  const names = path.split("/").slice(1);
  const open = (to: string) => filters.set("folder", to);
  return (
    <nav
      aria-label={t("Folders")}
      className="flex flex-wrap items-center gap-x-1 gap-y-1.5 border-b border-line px-3 py-2 text-sm"
    >
      {path !== "" && (
        <>
          <button
            type="button"
            className={`text-accent hover:underline ${lit("")}`}
            onClick={() => open("")}
            {...dropOn("")}
          >
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
                  <button
                    type="button"
                    className={`text-accent hover:underline ${lit(to)}`}
                    onClick={() => open(to)}
                    {...dropOn(to)}
                  >
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
            className={`inline-flex h-7 items-center gap-1.5 rounded-md border border-line px-2 hover:bg-sunken ${lit(own)}`}
            {...dropOn(own)}
          >
            <Folder size={14} aria-hidden className="shrink-0 text-soft" />
            <span dir="auto">{own.slice(path.length + 1)}</span>
            <span className="text-xs text-soft">{count}</span>
          </button>
        ))}
    </nav>
  );
}

/** Moves selected resources to a folder, or out of all. */
export function MoveToFolder<T extends Filed>({
  chosen,
  moving,
}: {
  chosen: readonly T[];
  moving: Moving<T>;
}) {
  const list = useId();
  const [text, setText] = useState<string | null>(null);
  const known = useFolders();
  const path = pathIn(text ?? "");
  const { isBusy, move } = useMove(moving);
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
                busy={isBusy}
                disabled={path.length > 50}
                onClick={() => void move(chosen, path).then(() => setText(null))}
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
