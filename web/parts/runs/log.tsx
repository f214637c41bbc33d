import { useEffect, useRef, useState } from "react";
import { call, follow } from "../../api.ts";
import type { LogLine } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Failed, Loading } from "../base/page.tsx";
import { counted } from "../base/time.tsx";
import { Log } from "./log-lines.tsx";

/** Lines per page of a finished run's log. */
const PAGE = 1000;
/** Maximum number of lines kept of a running run's log, the last ones. */
const MOST_LINES = 10_000;
/** Interval of rendering new lines. */
const DRAW_MS = 150;

interface Props {
  runId: string;
  isOver: boolean;
  onEnd: () => void;
}

/** The log of a run: streamed while it is running, in pages once it has finished. */
export default function RunLog({ runId, isOver, onEnd }: Props) {
  const [wasOver] = useState(isOver);
  return wasOver ? <Past runId={runId} /> : <Live runId={runId} onEnd={onEnd} />;
}

function Past({ runId }: { runId: string }) {
  const [lines, setLines] = useState<LogLine[] | null>(null);
  const [cursor, setCursor] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const load = async (from: string | undefined, signal?: AbortSignal) => {
    setBusy(true);
    try {
      const query = { limit: PAGE, ...(from ? { cursor: from } : {}) };
      const page = await call(
        "GET /api/v1/action-runs/{run_id}/logs",
        { path: { run_id: runId }, query },
        signal ? { signal } : {},
      );
      setLines((before) => (from ? [...(before ?? []), ...page.items] : page.items));
      setCursor(page.nextCursor);
      setError(null);
    } catch (cause) {
      if (!signal?.aborted) setError(cause as Error);
    }
    setBusy(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another run has another log
  useEffect(() => {
    const stop = new AbortController();
    void load(undefined, stop.signal);
    return () => stop.abort();
  }, [runId]);
  if (error && !lines) return <Failed error={error} again={() => void load(undefined)} />;
  if (!lines) return <Loading rows={3} />;
  return (
    <>
      <Log lines={lines} isLive={false} />
      {cursor && (
        <div className="border-t border-line p-2 text-center">
          <Button kind="quiet" busy={isBusy} onClick={() => void load(cursor)}>
            {t("Load {PAGE} more lines", { PAGE: counted(PAGE) })}
          </Button>
        </div>
      )}
    </>
  );
}

function Live({ runId, onEnd }: { runId: string; onEnd: () => void }) {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [isOver, setOver] = useState(false);
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    const stop = new AbortController();
    const fresh: LogLine[] = [];
    const draw = setInterval(() => {
      if (fresh.length > 0) setLines((before) => [...before, ...fresh.splice(0)].slice(-MOST_LINES));
    }, DRAW_MS);
    const read = async () => {
      let last: string | null = null as string | null;
      while (!stop.signal.aborted) {
        try {
          const name = "GET /api/v1/action-runs/{run_id}/stream";
          const messages = follow(
            name,
            { path: { run_id: runId } },
            { signal: stop.signal, lastEventId: last },
          );
          for await (const message of messages) {
            last = message.id ?? last;
            if (message.event === "log") fresh.push(message.data as LogLine);
            if (message.event === "status") end.current();
            if (message.event === "end") {
              setOver(true);
              return end.current();
            }
          }
        } catch {
          if (stop.signal.aborted) return;
        }
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    };
    void read();
    return () => {
      stop.abort();
      clearInterval(draw);
    };
  }, [runId]);
  return <Log lines={lines} isLive={!isOver} />;
}
