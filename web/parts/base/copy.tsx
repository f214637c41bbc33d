import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { t } from "../../texts/text.ts";
import { IconButton } from "./button.tsx";
import { notify } from "./toast.tsx";

const SHOWN_MS = 1500;

/** Copies `text` to the clipboard. Returns false if the browser doesn't allow it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    notify(t("Couldn't copy: the browser blocked access to the clipboard."), "bad");
    return false;
  }
}

export function CopyButton({ text, label = t("Copy") }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  return (
    <IconButton
      icon={isDone ? Check : Copy}
      label={isDone ? t("Copied") : label}
      onClick={async (event) => {
        event.preventDefault();
        if (!(await copy(text))) return;
        setDone(true);
        setTimeout(() => setDone(false), SHOWN_MS);
      }}
    />
  );
}

/** An ID or URL in a monospace font, which can be copied with one click. */
export function Mono({ text, shown = text }: { text: string; shown?: string }) {
  return (
    <span className="-my-1 inline-flex max-w-full items-center gap-0.5 align-middle">
      <code className="truncate font-mono text-xs" title={text}>
        {shown}
      </code>
      <CopyButton text={text} label={t("Copy {shown}", { shown })} />
    </span>
  );
}
