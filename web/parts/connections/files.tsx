import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronRight, File as FileIcon, Folder, FolderOpen, Upload } from "lucide-react";
import { useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { call } from "../../api.ts";
import type { Connection } from "../../calls.ts";
import { refresh, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Empty, Failed, Loading } from "../base/page.tsx";
import { sized, When } from "../base/time.tsx";
import { notify } from "../base/toast.tsx";
import { LoadLink, specOfFile } from "./load-link.tsx";
import { FileStart } from "./remote-preview.tsx";

interface Props {
  connection: Connection;
  canUpload: boolean;
  /** True if an extract can read from it. */
  canLoad: boolean;
}

/** The folders of a connection, with upload if the provider supports it. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one panel, from its query to its list
export function Files({ connection, canUpload, canLoad }: Props) {
  const [search, setSearch] = useSearchParams();
  const path = search.get("path") ?? "/";
  /** Names of the folders in the path, if `path` is an ID. */
  const names = search.get("names") ?? path;
  const may = useMay("member");
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [isOver, setOver] = useState(false);
  const [looked, setLooked] = useState<{ id: string; name: string } | null>(null);
  const pathParams = { connection_id: connection.id };
  const files = useInfiniteQuery({
    queryKey: ["GET /api/v1/connections/{connection_id}/files", pathParams, path],
    queryFn: ({ signal, pageParam }) =>
      call(
        "GET /api/v1/connections/{connection_id}/files",
        { path: pathParams, query: { path, ...(pageParam ? { page_token: pageParam } : {}) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken,
    retry: false,
  });
  const open = (to: string, named = to) =>
    setSearch((before) => {
      before.set("path", to);
      before.set("names", named);
      return before;
    });
  const upload = async (list: FileList | null) => {
    setBusy(true);
    for (const file of list ?? []) {
      const query = { path: `${path.replace(/\/$/, "")}/${file.name}` };
      try {
        await call(
          "PUT /api/v1/connections/{connection_id}/files",
          { path: pathParams, query },
          { raw: file },
        );
        notify(t("{name} uploaded", { name: file.name }));
      } catch (error) {
        notify(`${file.name}: ${error instanceof Error ? error.message : t("upload failed")}`, "bad");
      }
    }
    setBusy(false);
    await refresh(queries, "/files");
  };
  const parts = names.split("/").filter(Boolean);
  const items = files.data?.pages.flatMap((page) => page.items) ?? [];
  const mayUpload = canUpload && may;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button next to it does the same by keyboard
    <div
      className={`card ${isOver ? "border-accent" : ""}`}
      onDragOver={(event) => {
        if (!mayUpload) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (mayUpload) void upload(event.dataTransfer.files);
      }}
    >
      <div className="flex min-h-11 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
        <nav aria-label={t("Folder")} className="flex min-w-0 flex-wrap items-center gap-1 text-sm">
          <button
            type="button"
            className="min-w-0 text-left [overflow-wrap:anywhere] hover:underline"
            onClick={() => open("/")}
          >
            {connection.name}
          </button>
          {parts.map((part, at) => (
            <span key={parts.slice(0, at + 1).join("/")} className="flex items-center gap-1">
              <ChevronRight size={13} aria-hidden className="text-faint" />
              <button
                type="button"
                className="hover:underline"
                onClick={() => open(`/${parts.slice(0, at + 1).join("/")}`)}
              >
                {part}
              </button>
            </span>
          ))}
        </nav>
        {mayUpload && (
          <>
            <input
              ref={input}
              type="file"
              multiple
              hidden
              aria-label={t("Files to upload")}
              onChange={(event) => void upload(event.target.files)}
            />
            <Button icon={Upload} busy={isBusy} onClick={() => input.current?.click()}>
              {t("Upload")}
            </Button>
          </>
        )}
      </div>
      {files.isPending ? (
        <Loading rows={4} />
      ) : files.error ? (
        <Failed error={files.error} again={() => void files.refetch()} />
      ) : items.length === 0 ? (
        <Empty icon={FolderOpen} title={t("This folder is empty")}>
          {mayUpload ? t("Drop files here, or select Upload.") : null}
        </Empty>
      ) : (
        <ul>
          {items.map((item) => (
            <li
              key={item.id}
              className="flex h-9 items-center gap-3 border-t border-line px-4 text-sm first:border-t-0"
            >
              {item.kind === "folder" ? (
                <>
                  <Folder size={15} aria-hidden className="shrink-0 text-accent" />
                  <button
                    type="button"
                    className="min-w-0 grow truncate text-left hover:underline"
                    onClick={() => open(item.id, `${names.replace(/\/$/, "")}/${item.name}`)}
                  >
                    {item.name}
                  </button>
                </>
              ) : (
                <>
                  <FileIcon size={15} aria-hidden className="shrink-0 text-faint" />
                  {may ? (
                    <button
                      type="button"
                      className="min-w-0 grow truncate text-left hover:underline"
                      dir="auto"
                      onClick={() => setLooked(item)}
                    >
                      {item.name}
                    </button>
                  ) : (
                    <span className="min-w-0 grow truncate" dir="auto">
                      {item.name}
                    </span>
                  )}
                  {canLoad && may && (
                    <LoadLink connectionId={connection.id} spec={specOfFile(`${names}/${item.name}`)} />
                  )}
                  <span className="w-16 text-right text-xs text-soft tabular-nums">{sized(item.size)}</span>
                  <span className="w-28 text-right text-xs text-soft max-sm:hidden">
                    <When at={item.modifiedAt} empty="" />
                  </span>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {files.hasNextPage && (
        <div className="border-t border-line p-2 text-center">
          <Button kind="quiet" busy={files.isFetchingNextPage} onClick={() => void files.fetchNextPage()}>
            {t("Load more")}
          </Button>
        </div>
      )}
      {looked && <FileStart connectionId={connection.id} file={looked} onClose={() => setLooked(null)} />}
    </div>
  );
}
