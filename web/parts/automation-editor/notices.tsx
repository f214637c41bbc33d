import { t } from "../../texts/text.ts";
import type { DraftState } from "./draft.ts";

export const FirstStep = ({ onAdd }: { onAdd: () => void }) => (
  <div className="pointer-events-none absolute inset-x-0 top-40 flex justify-center">
    <button
      type="button"
      onClick={onAdd}
      className="pointer-events-auto min-h-12 rounded-xl border border-dashed border-strong-line bg-raised px-6 text-sm hover:border-accent hover:text-accent"
    >
      {t("Add the first step")}
    </button>
  </div>
);

/** Shows what others have changed, and why a draft isn't saved. */
export function Notices({ state, onHeard }: { state: DraftState; onHeard: () => void }) {
  return (
    <>
      {state.others && (
        <p
          role="status"
          className="flex items-center gap-3 border-b border-line bg-warn-soft px-3 py-1 text-sm text-warn"
        >
          <span className="grow">
            {state.others} {t("Their changes are merged into yours.")}
          </span>
          <button type="button" className="min-h-6 underline" onClick={onHeard}>
            {t("Dismiss")}
          </button>
        </p>
      )}
      {state.problem && (
        <p role="alert" className="border-b border-line bg-bad-soft px-3 py-1 text-sm text-bad">
          {t("Draft not saved: {problem}", { problem: state.problem })}
        </p>
      )}
    </>
  );
}
