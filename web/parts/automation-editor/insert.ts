import { type FocusEvent, useCallback, useRef } from "react";
import { t } from "../../texts/text.ts";
import { notify } from "../base/toast.tsx";

type Field = HTMLInputElement | HTMLTextAreaElement;

const isField = (target: EventTarget | null): target is Field =>
  target instanceof HTMLTextAreaElement ||
  (target instanceof HTMLInputElement && ["text", "search", "url", ""].includes(target.type));

/** Editable element of a code editor, which is in a shadow root. */
const editableIn = (host: Element | null): HTMLElement | null =>
  host?.shadowRoot?.querySelector<HTMLElement>("[contenteditable=true]") ?? null;

/** Inserts expressions into the last focused field. */
export function useInsert() {
  const last = useRef<Element | null>(null);
  const onFocus = useCallback((event: FocusEvent) => {
    const target = event.target;
    if (isField(target) || editableIn(target)) last.current = target;
  }, []);
  const insert = useCallback((path: string) => {
    const field = last.current;
    const editable = editableIn(field);
    if (!field?.isConnected) return notify(t("Click into a field first, then select a value."), "bad");
    if (editable) {
      editable.focus();
      document.execCommand("insertText", false, `{{${path}}}`);
    } else if (isField(field)) {
      // A condition is an expression itself, and refers to values without braces.
      const text = field.dataset.as === "condition" ? path : `{{${path}}}`;
      field.focus();
      field.setRangeText(text, field.selectionStart ?? 0, field.selectionEnd ?? 0, "end");
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    }
  }, []);
  return { onFocus, insert };
}
