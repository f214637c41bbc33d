import { Bot, MessageSquarePlus, MessagesSquare, Trash2 } from "lucide-react";
import { useState } from "react";
import type { AgentSpec, Thread } from "../calls.ts";
import { useAll, useMay } from "../data.ts";
import { NoModel } from "../parts/agents/no-model.tsx";
import { Button, LinkButton } from "../parts/base/button.tsx";
import { Menu } from "../parts/base/menu.tsx";
import { Empty, PageHead, Shown } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { counted, When } from "../parts/base/time.tsx";
import { ChatWith, useStartChat } from "../parts/chat/start.tsx";
import { DeleteThreads, titleOf } from "../parts/chat/threads.tsx";
import { Older, useOlder } from "../parts/table/older.tsx";
import { SelectionBar, useSelection } from "../parts/table/selection.tsx";
import { type Column, Named, Table } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

/** Statuses to show in the list. Most chats have an answer and need none. */
const NOTABLE = ["streaming", "waiting", "failed"];

export default function Chat() {
  const may = useMay("member");
  const agents = useAll("GET /api/v1/agents/specs", {}, ({ specs }) => specs);
  const threads = useOlder("GET /api/v1/chat/threads", {});
  const [isRemoving, setRemoving] = useState(false);
  const names = new Map(agents.data?.map(({ id, name }) => [id, name]));
  const selection = useSelection(threads.items ?? [], titleOf);
  const columns: readonly Column<Thread>[] = [
    ...(may ? [selection.column] : []),
    {
      name: t("Chat"),
      isWide: true,
      cell: (thread) => (
        <Named name={titleOf(thread)} below={names.get(thread.agentSpecId) ?? t("Deleted agent")} />
      ),
    },
    {
      name: t("Status"),
      cell: ({ lastTurnStatus }) =>
        NOTABLE.includes(lastTurnStatus) ? (
          <Status
            status={lastTurnStatus}
            label={lastTurnStatus === "waiting" ? t("Needs approval") : undefined}
          />
        ) : null,
    },
    {
      name: t("Last message"),
      isRight: true,
      isMinor: true,
      cell: ({ updatedAt }) => <When at={updatedAt} />,
    },
  ];
  return (
    <>
      <PageHead title={t("Chat")} about={t("Private conversations with agents. Only you can see them.")}>
        {may && <NewChat agents={agents.data ?? []} />}
      </PageHead>
      <NoModel />
      <div className="card">
        <Older of={threads}>
          {(items) =>
            items.length > 0 ? (
              <>
                <Table
                  label={t("Chats")}
                  columns={columns}
                  rows={items}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/chat/${id}`}
                />
                {selection.chosen.length > 0 && (
                  <SelectionBar count={selection.chosen.length} onClear={selection.clear}>
                    <Button kind="bad" icon={Trash2} onClick={() => setRemoving(true)}>
                      {t("Delete {count} selected", { count: counted(selection.chosen.length) })}
                    </Button>
                  </SelectionBar>
                )}
              </>
            ) : (
              <Shown of={agents}>{(specs) => <First agents={specs} may={may} />}</Shown>
            )
          }
        </Older>
      </div>
      {isRemoving && (
        <DeleteThreads
          ids={selection.chosen.map(({ id }) => id)}
          onClose={() => setRemoving(false)}
          onDone={selection.clear}
        />
      )}
    </>
  );
}

function NewChat({ agents }: { agents: readonly AgentSpec[] }) {
  const start = useStartChat();
  const [only] = agents;
  if (!only) return null;
  if (agents.length === 1) return <ChatWith agentId={only.id}>{t("New chat")}</ChatWith>;
  return (
    <Menu
      label={t("New chat with")}
      hasText
      align="right"
      buttonClass="inline-flex h-8 items-center gap-1.5 rounded-md bg-accent px-3 text-sm font-medium text-on-accent hover:bg-accent-strong"
      button={
        <>
          <MessageSquarePlus size={15} aria-hidden />
          {t("New chat")}
        </>
      }
      items={agents.map(({ id, name }) => ({
        name,
        icon: Bot,
        onPick: () => start.mutate({ body: { agentSpecId: id } }),
      }))}
    />
  );
}

/** Number of agents to offer first. */
const OFFERED = 6;

function First({ agents, may }: { agents: readonly AgentSpec[]; may: boolean }) {
  if (agents.length === 0)
    return (
      <Empty
        icon={Bot}
        title={t("No agents yet")}
        action={
          may && (
            <LinkButton href="/agents/new" kind="main">
              {t("Create agent")}
            </LinkButton>
          )
        }
      >
        {t("An agent answers questions about your data. It asks for approval before it changes anything.")}
      </Empty>
    );
  return (
    <Empty
      icon={MessagesSquare}
      title={t("No chats yet")}
      action={
        may &&
        agents.slice(0, OFFERED).map(({ id, name }) => (
          <ChatWith key={id} agentId={id}>
            {t("Ask {name}", { name })}
          </ChatWith>
        ))
      }
    >
      {t("Ask about your data in plain language.")}
    </Empty>
  );
}
