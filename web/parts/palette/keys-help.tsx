import { areasFor } from "../../areas.ts";
import { useInstallation } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Dialog } from "../base/dialog.tsx";
import { keyNames } from "../base/key-names.ts";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["Ctrl+K", t("Search names, IDs and errors")],
  ["/", t("Focus the page's filter")],
  ["Ctrl+Enter", t("Run the query or save the form")],
  ["Esc", t("Close the dialog")],
  ["?", t("Show keyboard shortcuts")],
  ["j k", t("Next or previous approval")],
  ["a", t("Approve, or go to the form")],
  ["r", t("Enter a reason and reject")],
  ["x", t("Select the approval")],
];

export default function Keys({ onClose }: { onClose: () => void }) {
  const areas = areasFor(useInstallation());
  return (
    <Dialog title={t("Keyboard shortcuts")} onClose={onClose}>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2">
        {[...KEYS, ...areas.map(({ key, name }) => [`g ${key}`, name] as const)].map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt>
              {keys.split(" ").map((key) => (
                <kbd
                  key={key}
                  className="mr-1 rounded border border-strong-line bg-ground px-1.5 py-0.5 font-mono text-xs"
                >
                  {keyNames(key)}
                </kbd>
              ))}
            </dt>
            <dd className="text-soft">{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
