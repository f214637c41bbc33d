import { useState } from "react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { TextField } from "../base/labelled.tsx";

export const TagChips = ({ tags }: { tags: readonly string[] }) => (
  <span className="flex flex-wrap gap-1">
    {tags.map((tag) => (
      <span
        key={tag}
        dir="auto"
        className="rounded bg-sunken px-1.5 py-0.5 text-xs whitespace-nowrap text-soft"
      >
        {tag}
      </span>
    ))}
  </span>
);

const useTags = () => useApi("GET /api/v1/tags", {}).data?.tags ?? [];

/** The filter of a list by the tags that its things have; none where they have none. */
export function useTagChoice(noun: "automations" | "actions") {
  const options = useTags()
    .filter((each) => each[noun] > 0)
    .map(({ tag }) => [tag, tag] as const);
  return options.length > 0 ? [{ label: t("Tag"), name: "tag", options }] : [];
}

/** The tags in a text that a person writes, each once. */
export const tagsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];

interface Props {
  tags: readonly string[];
  onChange: (tags: string[]) => void;
  fault?: string | undefined;
}

/** Tags as text, with commas between them. */
export function TagsField({ tags, onChange, fault }: Props) {
  const [text, setText] = useState(tags.join(", "));
  return (
    <TextField
      label={t("Tags")}
      about={t("Separated by commas")}
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

/** The tags that are in use, as proposals for a field. */
export function TagProposals({ id }: { id: string }) {
  return (
    <datalist id={id}>
      {useTags().map(({ tag }) => (
        <option key={tag} value={tag} />
      ))}
    </datalist>
  );
}
