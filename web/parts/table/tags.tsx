import { Folder } from "lucide-react";
import { useState } from "react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { TextField } from "../base/labelled.tsx";

/** Tags. With `most` they stay on one line: the others are counted, and shown on hover. */
export function TagChips({ tags, most }: { tags: readonly string[]; most?: number }) {
  const more = tags.slice(most ?? tags.length);
  return (
    <span className={`flex gap-1 ${most === undefined ? "flex-wrap" : ""}`}>
      {tags.slice(0, most).map((tag) => (
        <span
          key={tag}
          dir="auto"
          title={most === undefined ? undefined : tag}
          className="inline-flex items-center gap-1 rounded bg-sunken px-1.5 py-0.5 text-xs whitespace-nowrap text-soft"
        >
          {isFolder(tag) && <Folder size={12} aria-hidden className="shrink-0" />}
          <span className={most === undefined ? "" : "max-w-28 truncate"}>{tag}</span>
        </span>
      ))}
      {more.length > 0 && (
        <span className="px-0.5 py-0.5 text-xs text-soft" title={more.join(", ")}>
          <span aria-hidden>+{more.length}</span>
          <span className="sr-only">{more.join(", ")}</span>
        </span>
      )}
    </span>
  );
}

/** Returns whether a tag is a folder path. */
export const isFolder = (tag: string): boolean => tag.startsWith("/");

/** A path in its stored form, with `/` before each name. Empty for none. */
export const pathIn = (text: string): string =>
  text
    .split("/")
    .map((name) => name.trim())
    .filter(Boolean)
    .map((name) => `/${name}`)
    .join("");

/** The folder in the URL of a form for a new resource. */
export const folderIn = (search: URLSearchParams): string | null =>
  pathIn(search.get("folder") ?? "") || null;

export const folderText = (folder: string | null): string =>
  folder === null ? "" : t("It will be in the folder {folder}.", { folder });

const useTags = () => useApi("GET /api/v1/tags", {}).data?.tags ?? [];
/** All folders by path, with the number of resources in each and its subfolders. */
export const useFolders = () => useApi("GET /api/v1/tags", {}).data?.folders ?? [];

/** The tag filter of a list. None if there are no tags. */
export function useTagChoice(noun: "automations" | "actions") {
  const options = useTags()
    .filter((each) => each[noun] > 0 && !isFolder(each.tag))
    .map(({ tag }) => [tag, tag] as const);
  return options.length > 0 ? [{ label: t("Tag"), name: "tag", options }] : [];
}

/** A tag in quotes, where doubled quotes are one, or anything up to a comma. */
const WRITTEN = /\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)/y;

/** Parses comma-separated tags without duplicates. A tag with a comma is in quotes. */
export function tagsIn(text: string): string[] {
  const tags = new Set<string>();
  WRITTEN.lastIndex = 0;
  for (let found = WRITTEN.exec(text); found && found[0] !== ""; found = WRITTEN.exec(text)) {
    const [, quoted, plain = ""] = found;
    const tag = (quoted?.replaceAll('""', '"') ?? plain).trim();
    if (tag !== "") tags.add(tag);
  }
  return [...tags];
}

/** Formats tags for `tagsIn`. */
const textOfTags = (tags: readonly string[]): string =>
  tags.map((tag) => (/^"|,/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(", ");

export const aboutTags = () =>
  t("Separated by commas. Put a tag that has a comma between quotes. One that begins with / is a folder.");

interface Props {
  tags: readonly string[];
  onChange: (tags: string[]) => void;
  fault?: string | undefined;
}

/** Tags as comma-separated text. */
export function TagsField({ tags, onChange, fault }: Props) {
  const [text, setText] = useState(textOfTags(tags));
  return (
    <TextField
      label={t("Tags")}
      about={aboutTags()}
      value={text}
      onChange={(value) => {
        setText(value);
        onChange(tagsIn(value));
      }}
      fault={fault}
      maxLength={1100}
    />
  );
}

/** Existing tags as suggestions for a field. */
export function TagProposals({ id }: { id: string }) {
  return (
    <datalist id={id}>
      {useTags().map(({ tag }) => (
        <option key={tag} value={tag} />
      ))}
    </datalist>
  );
}
