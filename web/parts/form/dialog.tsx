import { type ReactNode, useEffect } from "react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Locked } from "../base/locked.tsx";
import { Refusal, useFirstFault } from "./frame.tsx";

interface FormProps {
  title: string;
  verb: string;
  /** True if it destroys something. */
  isBad?: boolean;
  call: { error: Error | null; isPending: boolean };
  onSend: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** A small form in a dialog. */
export function FormDialog({ title, verb, isBad = false, call, onSend, onClose, children }: FormProps) {
  const form = useFirstFault(call.error);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, select")?.focus(), [form]);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        ref={form}
        className="space-y-4"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          onSend();
        }}
      >
        <Refusal error={call.error} />
        <Locked isOn={call.isPending}>
          <div className="space-y-4">{children}</div>
        </Locked>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button type="submit" kind={isBad ? "bad" : "main"} busy={call.isPending}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
