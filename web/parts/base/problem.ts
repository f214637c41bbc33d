import type { SyntheticEvent } from "react";

type Input = HTMLInputElement | HTMLTextAreaElement;

/** Props of a field whose text can't be used because of `problem`: its form isn't submitted, and the field is shown. */
export const refusing = (problem: string | null | undefined) => ({
  ref: (field: Input | null) => field?.setCustomValidity(problem ?? ""),
  // the browser can't show a field in a collapsed section
  onInvalid: ({ currentTarget }: SyntheticEvent) =>
    currentTarget.closest("details")?.setAttribute("open", ""),
});

/** Shows the first field whose text can't be used. Returns false if there is none. */
export function showProblem(box: ParentNode | null): boolean {
  const field = box?.querySelector<HTMLElement>("input:invalid, textarea:invalid, [data-problem]");
  if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.reportValidity();
  else field?.scrollIntoView({ block: "nearest" });
  return Boolean(field);
}
