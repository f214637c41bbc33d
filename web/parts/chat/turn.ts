import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, call, follow } from "../../api.ts";
import type { CallInput, Thread } from "../../calls.ts";
import { refresh } from "../../data.ts";
import { ownZone } from "../base/formats.ts";
import { apply, textOf, type UiMessage } from "./chunks.ts";

type Asked = CallInput<"POST /api/v1/chat/threads/{thread_id}/turns/stream">["body"];

/** `lost`: the connection broke during an answer, which continues on the server and is resumed. */
type State = "idle" | "asking" | "answering" | "lost";

const RETRY_MS = [300, 1000, 2000, 5000];
/** Minimum time between two renders of an answer. Long answers render less often. */
const DRAW_MS = 16;
const MORE_MS_PER_CHARACTER = 1 / 80;

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

interface Listener {
  signal: AbortSignal;
  /** Called once the server has accepted the message or returns the stream. */
  onOpen: () => void;
  onMessage: (message: UiMessage) => void;
  onError: (text: string) => void;
}

/**
 * Reads the stream of a turn from its start: of a new one after a message, else of the one in progress.
 * Returns `none` if there is none, and `lost` if the connection broke before the end. Throws the server's error.
 */
async function readTurn(
  threadId: string,
  request: Asked | null,
  on: Listener,
): Promise<"done" | "none" | "lost"> {
  const path = { thread_id: threadId };
  const message: UiMessage = { id: "", role: "assistant", parts: [] };
  const options = { signal: on.signal, onOpen: on.onOpen };
  const headers: Record<string, string> = { "x-user-timezone": ownZone() };
  let isOpen = false;
  try {
    const stream = request
      ? follow(
          "POST /api/v1/chat/threads/{thread_id}/turns/stream",
          { path, body: request },
          { ...options, headers },
        )
      : follow("GET /api/v1/chat/threads/{thread_id}/turns/stream", { path }, options);
    for await (const { event, data } of stream) {
      isOpen = true;
      if (event === "done") return "done";
      const error = apply(message, data as Parameters<typeof apply>[1]);
      if (error !== null) on.onError(error);
      on.onMessage(message);
    }
  } catch (error) {
    if (on.signal.aborted) throw error;
    if (error instanceof ApiError && (error.status > 0 || request)) throw error;
    return "lost";
  }
  return isOpen ? "lost" : "none";
}

/** Renders a growing message at a rate that people can perceive. */
function drawer(show: (message: UiMessage) => void, signal: AbortSignal) {
  let isDue = false;
  return (message: UiMessage) => {
    if (isDue) return;
    isDue = true;
    const length = message.parts.reduce((sum, part) => sum + ("text" in part ? part.text.length : 0), 0);
    setTimeout(
      () => {
        isDue = false;
        if (!signal.aborted) show({ ...message, parts: message.parts.map((part) => ({ ...part })) });
      },
      DRAW_MS + length * MORE_MS_PER_CHARACTER,
    );
  };
}

const renew = (queries: QueryClient) => refresh(queries, "/chat/threads");

/** The turn of a thread: starts it, follows it, resumes it after a reload or a lost connection, and stops it. */
export function useTurn(thread: Thread) {
  const queries = useQueryClient();
  const [state, setState] = useState<State>("idle");
  const [live, setLive] = useState<UiMessage | null>(null);
  const [question, setQuestion] = useState<string | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const control = useRef<AbortController | null>(null);
  const { id } = thread;

  const carry = useCallback(
    async (request: Asked | null): Promise<boolean> => {
      if (control.current) return false;
      const own = new AbortController();
      control.current = own;
      const { signal } = own;
      let failure: Error | null = null;
      const on: Listener = {
        signal,
        onOpen() {
          if (!request) return;
          setState("answering");
          void renew(queries).then(() => signal.aborted || setQuestion(null));
        },
        onMessage: drawer((message) => {
          setState("answering");
          setLive(message);
        }, signal),
        onError(text) {
          failure = new Error(text);
        },
      };
      if (request) setProblem(null);
      setState(request ? "asking" : "answering");
      try {
        let end = await readTurn(id, request, on);
        for (let tries = 0; end === "lost" && !signal.aborted; tries++) {
          setState("lost");
          await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 0, signal);
          end = await readTurn(id, null, on);
        }
        // It has just ended, and the thread isn't updated yet.
        if (end === "none") await pause(RETRY_MS[1] ?? 0, signal);
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        if (!request) await pause(RETRY_MS[2] ?? 0, signal);
      }
      if (signal.aborted) return false;
      await renew(queries);
      own.abort();
      control.current = null;
      if (request || failure) setProblem(failure);
      setQuestion(null);
      setLive(null);
      setState("idle");
      return failure === null;
    },
    [id, queries],
  );

  useEffect(
    () => () => {
      control.current?.abort();
      control.current = null;
    },
    [],
  );
  useEffect(() => {
    if (thread.lastTurnStatus === "streaming" && state === "idle") void carry(null);
  }, [thread.lastTurnStatus, state, carry]);

  return {
    state,
    live,
    question,
    problem,
    /** False if the message couldn't be sent. `problem` says why. */
    ask(content: string) {
      setQuestion(content);
      return carry({ content });
    },
    again: () => carry({ trigger: "regenerate-message" }),
    async stop() {
      const seen = live === null ? null : textOf(live);
      try {
        await call("POST /api/v1/chat/threads/{thread_id}/turns/cancel", {
          path: { thread_id: id },
          body: { partialText: seen },
        });
        await renew(queries);
      } catch (error) {
        setProblem(error instanceof Error ? error : new Error(String(error)));
      }
    },
  };
}
