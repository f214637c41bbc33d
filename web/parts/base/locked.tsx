import { type ReactNode, useEffect, useRef } from "react";

/** Fields that can't be changed while `isOn`. The one that had the focus has it again afterwards. */
export function Locked({ isOn, children }: { isOn: boolean; children: ReactNode }) {
  const last = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isOn && document.activeElement === document.body) last.current?.focus();
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
