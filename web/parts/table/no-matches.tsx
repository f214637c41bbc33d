import { SearchX } from "lucide-react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Empty } from "../base/page.tsx";

/** Replaces a list whose filters match nothing; `title` names what they don't match. */
export function NoMatches({ title, onClear }: { title: string; onClear: () => void }) {
  return (
    <Empty icon={SearchX} title={title} action={<Button onClick={onClear}>{t("Clear filters")}</Button>} />
  );
}
