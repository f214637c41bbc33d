import { serverSentence, t } from "../../texts/text.ts";
/** Message and code of an error, as stored in deliveries and runs. */
export function ErrorText({ of }: { of: unknown }) {
  if (typeof of !== "object" || of === null) return <span className="text-faint">–</span>;
  const { message, code } = of as { message?: string; code?: string };
  return (
    <span className="[overflow-wrap:anywhere]">
      <span dir="auto" className="text-bad">
        {message === undefined ? t("Unknown error") : serverSentence(message)}
      </span>
      {code && <code className="ml-2 font-mono text-xs text-soft">{code}</code>}
    </span>
  );
}

/** An error message. Its further lines, such as a statement with a marker below it, are in a monospace font. */
export function ErrorMessage({ text }: { text: string }) {
  const [first, ...rest] = serverSentence(text).split("\n");
  const more = rest.join("\n").replace(/^\n+/, "");
  return (
    <>
      <p className="font-medium text-bad [overflow-wrap:anywhere]" dir="auto">
        {first}
      </p>
      {more && (
        <pre className="my-1 font-mono text-xs whitespace-pre-wrap text-bad [overflow-wrap:anywhere]">
          {more}
        </pre>
      )}
    </>
  );
}

/** An error message on one line. */
export const errorLine = (error: unknown): string | null =>
  typeof error === "object" && error !== null && "message" in error
    ? serverSentence(String(error.message))
    : null;
