import { useQuery } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { ApiError, call } from "../api.ts";
import type { ChatMessage, Thread } from "../calls.ts";
import { useAll, useApi, useChange, useMay } from "../data.ts";
import { keepDraft, readDraft } from "../drafts.ts";
import { Button, IconButton } from "../parts/base/button.tsx";
import { PageHead, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import type { UiMessage } from "../parts/chat/chunks.ts";
import { Compose } from "../parts/chat/compose.tsx";
import { Answer, type MessageText, Question } from "../parts/chat/message.tsx";
import { DeleteThread, RenameThread, titleOf } from "../parts/chat/threads.tsx";
import { useTurn } from "../parts/chat/turn.ts";
import { rich } from "../texts/rich.ts";
import { t } from "../texts/text.ts";

/** Someone else may decide, or the turn may continue, without an event for this user. */
const WAITING_MS = 1000;

export default function ChatPage({ id }: { id: string }) {
  const [isWaiting, setWaiting] = useState(false);
  const thread = useApi(
    "GET /api/v1/chat/threads/{thread_id}",
    { path: { thread_id: id } },
    isWaiting ? { refetchMs: WAITING_MS } : {},
  );
  const waits = thread.data?.lastTurnStatus === "waiting";
  useEffect(() => setWaiting(waits), [waits]);
  return (
    <Shown of={thread} isPage>
      {(data) => <Whole thread={data} />}
    </Shown>
  );
}

const PAGE = 200;

/** All messages, in order. */
function useSaid(id: string) {
  const name = "GET /api/v1/chat/threads/{thread_id}/messages" as const;
  return useQuery<ChatMessage[], Error>({
    queryKey: [name, id, "all"],
    async queryFn({ signal }) {
      const all: ChatMessage[] = [];
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
        const query = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
        const page = await call(name, { path: { thread_id: id }, query }, { signal });
        all.push(...page.items);
        cursor = page.nextCursor;
      }
      return all;
    },
  });
}

const toSaid = ({ id, rawData, createdAt, durationSeconds, cancelled }: ChatMessage): MessageText => ({
  id,
  message: rawData as unknown as UiMessage,
  createdAt,
  durationSeconds,
  cancelled,
});

/** The stored messages, with the answer in progress. */
function withLive(stored: readonly MessageText[], live: UiMessage | null): readonly MessageText[] {
  if (!live || live.id === "") return stored;
  const known = stored.find(({ id }) => id === live.id);
  const grown = { ...(known ?? { createdAt: null, durationSeconds: null, cancelled: false }), id: live.id };
  return [...stored.filter((message) => message !== known), { ...grown, message: live }];
}

/** The unsent message, which is kept in this tab. */
function useDraft(id: string) {
  const name = `chat.${id}`;
  const [draft, setDraft] = useState(() => readDraft(name) ?? "");
  const put = (text: string) => {
    setDraft(text);
    keepDraft(name, text === "" ? null : text);
  };
  return [draft, put] as const;
}

/** Number of messages to show first. */
const SHOWN = 60;

function Whole({ thread }: { thread: Thread }) {
  const may = useMay("member");
  const [opened, setOpened] = useState<"rename" | "delete" | null>(null);
  const [draft, setDraft] = useDraft(thread.id);
  const [shown, setShown] = useState(SHOWN);
  const messages = useSaid(thread.id);
  const turn = useTurn(thread);
  const agents = useAll("GET /api/v1/agents/specs", {}, ({ specs }) => specs);
  const agent = agents.data?.find(({ id }) => id === thread.agentSpecId);
  const isGone = agents.data !== undefined && !agent;
  const isActive = turn.state !== "idle";
  const isWaiting = thread.lastTurnStatus === "waiting" && !isActive;
  const end = useEnd(`${turn.live?.parts.length} ${messages.data?.length} ${turn.question}`, turn.live);
  return (
    <div className="mx-auto -mb-14 flex min-h-[calc(100vh-2rem)] max-w-3xl flex-col max-md:min-h-[calc(100vh-5rem)]">
      <PageHead
        title={titleOf(thread)}
        from={[["/chat", t("Chat")]]}
        about={
          agent &&
          rich("with {name}", {
            name: (
              <Link href={`/agents/${agent.id}`} className="text-accent hover:underline">
                {agent.name}
              </Link>
            ),
          })
        }
      >
        {may && (
          <>
            <IconButton icon={Pencil} label={t("Rename chat")} onClick={() => setOpened("rename")} />
            <IconButton icon={Trash2} label={t("Delete chat")} onClick={() => setOpened("delete")} />
          </>
        )}
      </PageHead>
      <Shown of={messages}>
        {(stored) => {
          const all = withLive(stored.map(toSaid), turn.live);
          const last = all.at(-1);
          const hidden = Math.max(all.length - shown, 0);
          return (
            <div className="grow space-y-5" role="log" aria-label={t("Conversation")}>
              {hidden > 0 && (
                <Button kind="quiet" onClick={() => setShown(shown + SHOWN)}>
                  {plural(hidden, { one: "Show # earlier message", other: "Show # earlier messages" })}
                </Button>
              )}
              {all.length === 0 && !turn.question && (
                <p className="py-10 text-center text-sm text-soft">
                  {agent
                    ? t("Ask {name} a question. You can see each step as it works.", { name: agent.name })
                    : t("Ask a question. You can see each step as the agent works.")}
                </p>
              )}
              {all
                .slice(hidden)
                .map((each) =>
                  each.message.role === "user" ? (
                    <Question key={each.id} text={questionOf(each.message)} />
                  ) : (
                    <Answer
                      key={each.id}
                      entry={each}
                      isGrowing={isActive && each === last}
                      isCurrent={each === last && isWaiting}
                      onAgain={
                        may && !isActive && !isWaiting && each === last ? () => void turn.again() : undefined
                      }
                    />
                  ),
                )}
              {turn.question !== null && <Question text={turn.question} />}
            </div>
          );
        }}
      </Shown>
      <Trouble thread={thread} problem={turn.problem} isIdle={!isActive} onAgain={may ? turn.again : null} />
      {isGone && may && <AnotherAgent thread={thread} />}
      <div ref={end} />
      {may ? (
        <Compose
          draft={draft}
          onDraft={setDraft}
          onAsk={turn.ask}
          onStop={turn.stop}
          isBusy={isActive || isWaiting}
          hint={hintOf(turn.state, isWaiting)}
        />
      ) : (
        <p className="py-6 text-center text-sm text-soft">
          {t("You can read this chat. Asking requires the member role.")}
        </p>
      )}
      {opened === "rename" && <RenameThread thread={thread} onClose={() => setOpened(null)} />}
      {opened === "delete" && <DeleteThread thread={thread} onClose={() => setOpened(null)} />}
    </div>
  );
}

const questionOf = ({ parts }: UiMessage): string =>
  parts.map((part) => ("text" in part ? part.text : "")).join("\n");

function hintOf(state: string, isWaiting: boolean): string | null {
  if (state === "lost") return t("Connection lost. Reconnecting… The answer continues on the server.");
  return isWaiting ? t("Waiting for your approval. Stop cancels the request.") : null;
}

/** Keeps scrolling to the end as it grows, unless the user has scrolled up. */
function useEnd(when: string, live: unknown) {
  const end = useRef<HTMLDivElement>(null);
  const isAway = useRef(false);
  useEffect(() => {
    const onScroll = () => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      isAway.current = scrollHeight - scrollTop - clientHeight > NEAR_PIXELS;
    };
    document.addEventListener("scroll", onScroll, { passive: true });
    return () => document.removeEventListener("scroll", onScroll);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of them makes the content longer
  useEffect(() => {
    if (!isAway.current) window.scrollTo({ top: document.documentElement.scrollHeight });
  }, [when, live]);
  return end;
}
const NEAR_PIXELS = 160;

interface TroubleProps {
  thread: Thread;
  problem: Error | null;
  isIdle: boolean;
  onAgain: (() => unknown) | null;
}

/** Why there is no answer: a rejected request, or the error of the last turn. */
function Trouble({ thread, problem, isIdle, onAgain }: TroubleProps) {
  const hasFailed = isIdle && thread.lastTurnStatus === "failed";
  const failures = useApi(
    "GET /api/v1/events",
    { query: { entityId: thread.id, type: "chat_turn.failed", limit: 1 } as never },
    { enabled: hasFailed && problem === null },
  );
  const stored = (failures.data?.items[0]?.data as { error?: { message?: string } } | undefined)?.error
    ?.message;
  const text = problem?.message ?? (hasFailed ? (stored ?? t("The answer failed.")) : null);
  if (text === null || !isIdle) return null;
  const isModelless = problem instanceof ApiError && problem.code === "llm_not_configured";
  return (
    <div
      role="alert"
      className={`mt-5 flex flex-wrap items-center justify-between gap-3 rounded-md px-3 py-2 text-sm ${isModelless ? "bg-warn-soft text-warn" : "bg-bad-soft text-bad"}`}
    >
      <div className="min-w-0 grow basis-60 [overflow-wrap:anywhere]">
        <p dir="auto">{text}</p>
        {isModelless && <p className="mt-1">{t("Your message wasn't sent. It's still in the box below.")}</p>}
      </div>
      {hasFailed && onAgain && <Button onClick={() => void onAgain()}>{t("Try again")}</Button>}
    </div>
  );
}

function AnotherAgent({ thread }: { thread: Thread }) {
  const agents = useAll("GET /api/v1/agents/specs", {}, ({ specs }) => specs);
  const give = useChange("PATCH /api/v1/chat/threads/{thread_id}", { touches: ["/chat/threads"] });
  return (
    <div className="mt-5 flex flex-wrap items-center gap-3 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
      <span className="grow">{t("This chat's agent was deleted.")}</span>
      <select
        aria-label={t("Choose another agent")}
        className="field w-auto max-w-full text-ink"
        value=""
        onChange={({ target: { value } }) =>
          give.mutate({ path: { thread_id: thread.id }, body: { agentSpecId: value } })
        }
      >
        <option value="">{t("Choose an agent")}</option>
        {agents.data?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
