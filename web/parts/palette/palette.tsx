import { useQuery } from "@tanstack/react-query";
import { CornerDownLeft, Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useInstallation, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { pageLost } from "../base/texts.ts";
import { type Hit, pages } from "./pages.ts";

const TYPING_MS = 150;

/** Loaded separately, so that the palette opens immediately. */
const search = () => import("./search.ts");

/** Finds resources by name, slug or ID, and opens them. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one dialog, from its search to its list
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  /** True if Enter was pressed before there were results. The first result is then opened. */
  const [isAwaited, setIsAwaited] = useState(false);
  const [, go] = useLocation();
  const box = useRef<HTMLDialogElement>(null);
  const list = useId();
  useEffect(() => {
    box.current?.showModal();
    void search().catch(() => undefined); // shown when the user searches
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["palette", query],
    async queryFn({ signal }) {
      const { isId, isIdPart, searchId, searchIdPart, searchNames } = await search();
      if (isId(query)) return searchId(query, signal);
      const [named, ending] = await Promise.all([
        searchNames(query, signal),
        isIdPart(query) ? searchIdPart(query, signal) : [],
      ]);
      return [...named, ...ending];
    },
    enabled: query !== "",
  });
  const mayAsk = useMay("admin");
  const isOperator = useInstallation()?.isOperator === true;
  const wanted = text.trim().toLowerCase();
  const hits = [
    ...(query === "" ? [] : (found.data ?? [])),
    ...pages().filter(
      ({ name, isAdmins, isOperators }) =>
        name.toLowerCase().includes(wanted) && (mayAsk || !isAdmins) && (isOperator || !isOperators),
    ),
  ];
  const chosen = Math.min(at, hits.length - 1);

  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    go(hit.href);
  };
  useEffect(() => {
    if (isAwaited && hits.length > 0) open(hits[0]);
  });
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((chosen + step + hits.length) % Math.max(hits.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (hits.length > 0) open(hits[chosen]);
      else setIsAwaited(true);
    }
  };
  return (
    <dialog
      ref={box}
      aria-label={t("Search")}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === box.current && onClose()}
      onKeyDown={onKey}
      className="mx-auto mt-[12vh] w-[calc(100vw-2rem)] max-w-xl overflow-hidden rounded-xl border border-strong-line bg-raised shadow-2xl"
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search size={16} aria-hidden className="text-soft" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={hits.length > 0 ? `${list}-${chosen}` : undefined}
          aria-label={t("Search names, IDs and errors")}
          placeholder={t("Search names, IDs and errors")}
          className="h-12 grow bg-transparent outline-none"
          value={text}
          maxLength={255}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
            setIsAwaited(false);
          }}
        />
      </div>
      <div
        id={list}
        role="listbox"
        aria-label={t("Search results")}
        className="max-h-[50vh] overflow-y-auto p-1.5"
      >
        {hits.map(({ href, name, about, icon: Icon }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keyboard
          <div
            key={href + name + about}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => open(hits[index])}
            onPointerMove={() => setAt(index)}
            className={`flex cursor-pointer items-center gap-3 rounded-md px-3 py-2 text-sm ${index === chosen ? "bg-accent-soft" : ""}`}
          >
            <Icon size={16} aria-hidden className="shrink-0 text-soft" />
            <span className="min-w-0 grow truncate" dir="auto">
              {name}
            </span>
            <span className="max-w-[45%] truncate text-xs text-soft">{about}</span>
            {index === chosen && <CornerDownLeft size={13} aria-hidden className="text-faint" />}
          </div>
        ))}
      </div>
      {hits.length === 0 && (
        <p className="px-4 pb-5 text-sm text-soft" role="status">
          {found.error
            ? pageLost()
            : found.isFetching || query !== text.trim()
              ? t("Searching…")
              : t("No results")}
        </p>
      )}
    </dialog>
  );
}
