import { Fragment, type ReactNode, useEffect, useLayoutEffect, useRef } from "react";

const isNowhere = () => document.activeElement === document.body;

/** Focuses a field or an editor, which is in a shadow root. */
const focus = (field: HTMLElement | null) =>
  (field?.shadowRoot?.querySelector<HTMLElement>("[contenteditable]") ?? field)?.focus({
    preventScroll: true,
  });

/**
 * Fields that can't be changed while `isOn`. The one that had the focus has it again afterwards. Keys that are typed
 * for it meanwhile do nothing.
 */
export function Locked({ isOn, children }: { isOn: boolean; children: ReactNode }) {
  const last = useRef<HTMLElement>(null);
  // an effect after painting would miss keys that are typed before it
  useLayoutEffect(() => {
    if (!isOn) {
      if (isNowhere()) focus(last.current);
      return;
    }
    const ignore = (event: KeyboardEvent) => {
      const isThere = document.activeElement === last.current; // until the browser draws the fields as inert
      if (!last.current || !(isNowhere() || isThere)) return;
      event.stopPropagation();
      if (event.key.length === 1) event.preventDefault(); // a space would scroll
    };
    window.addEventListener("keydown", ignore, true);
    return () => window.removeEventListener("keydown", ignore, true);
  }, [isOn]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only notes which field has the focus
    <div
      inert={isOn}
      onFocus={({ target }) => {
        last.current = target;
      }}
    >
      {children}
    </div>
  );
}

const FIELDS = "input, textarea, select, button, a[href], [tabindex], [data-editor]";

/** The label of a field, or the text of a button. */
const nameOf = (field: HTMLElement): string =>
  (
    field.shadowRoot?.querySelector("[aria-label]")?.getAttribute("aria-label") ??
    field.getAttribute("aria-label") ??
    (field as HTMLInputElement).labels?.[0]?.textContent ??
    field.textContent
  ).trim();

/** Describes what must be the same for a field to be the same again. */
const keyOf = (field: HTMLElement): string =>
  `${isText(field) ? "text" : `${field.tagName} ${(field as HTMLInputElement).type}`} ${nameOf(field)}`;

interface Last {
  field: HTMLElement;
  key: string;
  /** The place among fields with this key, and their count. */
  at: number;
  count: number;
}

/** Fields that are mounted anew for each `version`. The one that had the focus has it again, with its caret. */
export function Renewed({ version, children }: { version: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const last = useRef<Last>(null);
  const fieldsOf = (key: string) =>
    [...(box.current?.querySelectorAll<HTMLElement>(FIELDS) ?? [])].filter((field) => keyOf(field) === key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the fields are new
  useEffect(() => {
    const before = last.current;
    const found = before ? fieldsOf(before.key) : [];
    const after = found.length === before?.count ? found[before.at] : undefined;
    if (!before || !after || before.field.isConnected || !isNowhere()) return;
    focus(after);
    if (isText(before.field) && isText(after))
      after.setSelectionRange(before.field.selectionStart, before.field.selectionEnd);
  }, [version]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only notes which field has the focus
    <div
      ref={box}
      className="contents"
      onFocus={({ target }) => {
        if (target.matches("[type=submit]")) return; // not shown once everything is saved
        const key = keyOf(target);
        const found = fieldsOf(key);
        last.current = { field: target, key, at: found.indexOf(target), count: found.length };
      }}
      onBlur={({ target, relatedTarget }) => {
        const isLeft = target === last.current?.field && !relatedTarget && !target.closest("[inert]");
        if (isLeft) last.current = null;
      }}
    >
      <Fragment key={version}>{children}</Fragment>
    </div>
  );
}

/** Returns whether it has a caret. */
const isText = (field: HTMLElement): field is HTMLInputElement | HTMLTextAreaElement =>
  field instanceof HTMLTextAreaElement ||
  (field instanceof HTMLInputElement && field.selectionStart !== null);
