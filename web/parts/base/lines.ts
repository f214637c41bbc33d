import { useRef } from "react";

/**
 * Returns whether a field's text has had line breaks, which a single-line input would remove.
 * It stays true without them, so that the field keeps the focus.
 */
export function useHasLines(text: string): boolean {
  const hasLines = useRef(false);
  hasLines.current ||= /[\r\n]/.test(text);
  return hasLines.current;
}
