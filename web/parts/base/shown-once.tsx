import type { ReactNode } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { copyNow } from "./texts.ts";

interface Props {
  title: string;
  /** Its purpose. */
  children: ReactNode;
  copyLabel: string;
  text: string;
  onClose: () => void;
}

/** Shows a secret or link once, before it becomes unreadable. */
export function ShownOnce({ title, children, copyLabel, text, onClose }: Props) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <Button kind="main" onClick={onClose}>
          {t("Done")}
        </Button>
      }
    >
      <div className="mb-3 text-soft">
        {children} {copyNow()}
      </div>
      <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
        <code className="min-w-0 grow font-mono text-xs break-all select-all">{text}</code>
        <CopyButton text={text} label={copyLabel} />
      </div>
    </Dialog>
  );
}
