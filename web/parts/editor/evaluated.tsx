import { createContext, useContext, useEffect, useState } from "react";
import { call } from "../../api.ts";
import type { Reply } from "../../calls.ts";
import { t } from "../../texts/text.ts";

const TYPING_MS = 200;
const MOST_SHOWN = 200;

type Scope = Readonly<Record<string, unknown>>;
export type Evaluated = Reply<"POST /api/v1/expressions/evaluate">;

/** Values of the last run and pinned results, for evaluating expressions while the user types. Null for none. */
export const ScopeOfValues = createContext<Scope | null>(null);

/** The part of a scope that a text refers to. The rest needn't be sent. */
function named(text: string, scope: Scope): Scope {
  const { steps, ...rest } = scope;
  const only = (of: object) => Object.fromEntries(Object.entries(of).filter(([name]) => text.includes(name)));
  return { ...only(rest), ...(text.includes("steps") ? { steps: only((steps ?? {}) as object) } : {}) };
}

/** Evaluates a text on the server shortly after it was typed. Null until then. */
export function useEvaluated(
  text: string,
  as: "template" | "condition",
  scope: Scope | null,
): Evaluated | null {
  const [found, setFound] = useState<{ text: string; scope: Scope; reply: Evaluated } | null>(null);
  const isAsked = scope !== null && (as === "condition" ? text.trim() !== "" : text.includes("{{"));
  useEffect(() => {
    if (!isAsked) return;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      const body = { text, as, scope: named(text, scope) as never };
      call("POST /api/v1/expressions/evaluate", { body }, { signal: aborter.signal }).then(
        (reply) => setFound({ text, scope, reply }),
        (error: Error) => {
          if (aborter.signal.aborted) return;
          setFound({
            text,
            scope,
            reply: { value: null, error: { message: error.message, template: null } },
          });
        },
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [isAsked, text, as, scope]);
  return isAsked && found?.text === text && found.scope === scope ? found.reply : null;
}

const shown = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
};

/** Shows the value of a field's expression below it, or the error. */
export function EvaluatedText({ text, as }: { text: string; as: "template" | "condition" }) {
  const evaluated = useEvaluated(text, as, useContext(ScopeOfValues));
  if (evaluated === null) return null;
  const { value, error } = evaluated;
  return error ? (
    <p aria-live="polite" className="mt-1 text-xs break-words text-bad">
      {error.message}
    </p>
  ) : (
    <p
      aria-live="polite"
      className="mt-1 flex gap-1.5 font-mono text-xs text-soft"
      title={t("Value in the last run")}
    >
      <span aria-hidden>=</span>
      <span className="min-w-0 break-words" dir="auto">
        {value === "" ? t("(empty)") : shown(value)}
      </span>
    </p>
  );
}
