import { RotateCcw } from "lucide-react";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { Later, part } from "../base/later.tsx";
import { inWords, When } from "../base/time.tsx";
import { isTool, type Part, textOf, type UiMessage } from "./chunks.ts";
import { ToolCall } from "./tool.tsx";

const markdown = part(() => import("./markdown.tsx"));

/** Content of a message: as stored, or as received so far. */
export interface MessageText {
  id: string;
  message: UiMessage;
  createdAt: string | null;
  durationSeconds: number | null;
  cancelled: boolean;
}

export function Question({ text }: { text: string }) {
  return (
    <div className="flex justify-end">
      <p
        dir="auto"
        className="max-w-[85%] rounded-lg bg-accent-soft px-3 py-2 whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {text}
      </p>
    </div>
  );
}

interface Props {
  entry: MessageText;
  /** True while it is being received. */
  isGrowing: boolean;
  /** True if its approvals can still be decided. */
  isCurrent: boolean;
  /** Requests another answer. Omitted if that isn't possible. */
  onAgain?: (() => void) | undefined;
}

/** An answer: its text, reasoning and tool calls, in order. */
export function Answer({ entry, isGrowing, isCurrent, onAgain }: Props) {
  const { message, cancelled, durationSeconds, createdAt } = entry;
  const { parts } = message;
  const isEmpty = parts.every(({ type }) => type === "step-start");
  const text = textOf(message);
  const { warnings } = message.metadata ?? {};
  return (
    <article aria-label={t("Answer")} aria-busy={isGrowing} className="space-y-3">
      {Array.isArray(warnings) &&
        warnings.map((warning) => (
          <p key={String(warning)} className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn" dir="auto">
            {String(warning)}
          </p>
        ))}
      {parts.map((each, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are only appended
        <Drawn key={at} part={each} isCurrent={isCurrent} />
      ))}
      {isGrowing && (isEmpty || !isWriting(parts)) && (
        <p className="text-sm text-soft" role="status">
          <span className="pulse">{isEmpty ? t("Thinking…") : t("Writing…")}</span>
        </p>
      )}
      {!isGrowing && isEmpty && (
        <p className="text-sm text-soft">{cancelled ? t("Stopped") : t("No answer")}</p>
      )}
      {!isGrowing && !isEmpty && (
        <footer className="flex flex-wrap items-center gap-x-2 text-xs text-soft">
          {text !== "" && <CopyButton text={text} label={t("Copy answer")} />}
          {onAgain && (
            <Button kind="quiet" icon={RotateCcw} onClick={onAgain}>
              {t("Regenerate")}
            </Button>
          )}
          {cancelled && <span>{t("Stopped")}</span>}
          {createdAt && <When at={createdAt} />}
          {durationSeconds !== null && <span>{inWords(durationSeconds)}</span>}
        </footer>
      )}
    </article>
  );
}

/** Returns whether the last part is a text in progress. */
function isWriting(parts: readonly Part[]): boolean {
  const last = parts.at(-1);
  return last !== undefined && "text" in last && last.text !== "" && last.state === "streaming";
}

function Drawn({ part: each, isCurrent }: { part: Part; isCurrent: boolean }) {
  if (isTool(each)) return <ToolCall part={each} isCurrent={isCurrent} />;
  if (!("text" in each) || each.text === "") return null;
  if (each.type === "reasoning")
    return (
      <details className="text-sm text-soft">
        <summary>{t("Reasoning")}</summary>
        <p
          dir="auto"
          className="mt-1 border-l-2 border-line pl-3 whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {each.text}
        </p>
      </details>
    );
  const plain = (
    <p dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
      {each.text}
    </p>
  );
  return <Later of={markdown} props={{ text: each.text }} waiting={plain} lost={plain} />;
}
