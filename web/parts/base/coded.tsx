import { Fragment } from "react";

/** Help or an error as text, with backticks rendered as code. A single backtick is left unchanged. */
export function Coded({ text }: { text: string }) {
  const parts = text.split(/`([^`]+)`/);
  return parts.map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no IDs
      <code key={at} className="font-mono">
        {part}
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no IDs
      <Fragment key={at}>{part}</Fragment>
    ),
  );
}
