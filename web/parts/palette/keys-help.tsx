import { areasFor } from "../../areas.ts";
import { useInstallation } from "../../data.ts";
import { Dialog } from "../base/dialog.tsx";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["Ctrl+K", "Search names, IDs and errors"],
  ["/", "Focus the page's filter"],
  ["Ctrl+Enter", "Run the query or save the form"],
  ["Esc", "Close the dialog"],
  ["?", "Show keyboard shortcuts"],
  ["j k", "Next or previous approval"],
  ["a", "Approve, or go to the form"],
  ["r", "Enter a reason and reject"],
  ["x", "Select the approval"],
];

export function Keys({ onClose }: { onClose: () => void }) {
  const areas = areasFor(useInstallation());
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2">
        {[...KEYS, ...areas.map(({ key, name }) => [`g ${key}`, name] as const)].map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt>
              {keys.split(" ").map((key) => (
                <kbd
                  key={key}
                  className="mr-1 rounded border border-strong-line bg-ground px-1.5 py-0.5 font-mono text-xs"
                >
                  {key}
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
