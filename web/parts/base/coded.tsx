import { Fragment } from "react";

/** Help or an error as text, in which what stands between backticks is code. A backtick without another stays. */
export function Coded({ text }: { text: string }) {
  const parts = text.split(/`([^`]+)`/);
  return parts.map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text have no other order
      <code key={at} className="font-mono">
        {part}
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text have no other order
      <Fragment key={at}>{part}</Fragment>
    ),
  );
}
