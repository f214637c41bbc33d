import { SendHorizontal, Square } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";

interface Props {
  /** Sends the message. Resolves to true once the field can be cleared. */
  onAsk: (text: string) => Promise<boolean>;
  onStop: () => void;
  /** True while an answer is in progress or waits. Then nothing can be sent. */
  isBusy: boolean;
  hint: string | null;
  draft: string;
  onDraft: (text: string) => void;
}

const MAX_CHARACTERS = 100_000;
const MAX_ROWS = 10;

/** Field for a message: Enter sends, Shift+Enter starts a new line. */
export function Compose({ onAsk, onStop, isBusy, hint, draft, onDraft }: Props) {
  const [isStopping, setStopping] = useState(false);
  const send = async () => {
    const text = draft;
    if (text.trim() === "" || isBusy) return;
    onDraft("");
    if (!(await onAsk(text))) onDraft(text);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    <form
      className="sticky bottom-0 z-10 -mx-1 bg-ground px-1 pt-2 pb-4"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div className="flex items-end gap-2 rounded-lg border border-strong-line bg-raised p-2 focus-within:border-accent">
        <textarea
          aria-label={t("Message")}
          placeholder={t("Ask a question")}
          // biome-ignore lint/a11y/noAutofocus: the main purpose of the page
          autoFocus
          rows={Math.min(draft.split("\n").length, MAX_ROWS)}
          maxLength={MAX_CHARACTERS}
          className="min-h-8 min-w-0 grow resize-none bg-transparent px-1.5 py-1.5 outline-none"
          dir="auto"
          value={draft}
          onChange={(event) => onDraft(event.target.value)}
          onKeyDown={onKey}
        />
        {isBusy ? (
          <Button
            icon={Square}
            busy={isStopping}
            onClick={async () => {
              setStopping(true);
              await onStop();
              setStopping(false);
            }}
          >
            {t("Stop")}
          </Button>
        ) : (
          <Button type="submit" kind="main" icon={SendHorizontal} disabled={draft.trim() === ""}>
            {t("Ask")}
          </Button>
        )}
      </div>
      {hint && (
        <p role="status" className="mt-1 px-1 text-xs text-soft">
          {hint}
        </p>
      )}
    </form>
  );
}
