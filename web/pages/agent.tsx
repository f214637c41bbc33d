import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { AgentSpec } from "../calls.ts";
import { useAll, useApi, useChange, useMay } from "../data.ts";
import { AgentEditor } from "../parts/agents/editor.tsx";
import { IconButton } from "../parts/base/button.tsx";
import { Mono } from "../parts/base/copy.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { Facts, PageHead, Section, Shown } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { cantUndo } from "../parts/base/texts.ts";
import { When } from "../parts/base/time.tsx";
import { ChatWith } from "../parts/chat/start.tsx";
import { FormFrame, faultsOf } from "../parts/form/frame.tsx";
import { Held } from "../parts/layout/detail.tsx";
import { t } from "../texts/text.ts";

export default function AgentPage({ id }: { id: string }) {
  const agent = useApi("GET /api/v1/agents/specs/{spec_id}", { path: { spec_id: id } });
  return (
    <Shown of={agent} isPage>
      {(data) => <Whole agent={data} />}
    </Shown>
  );
}

function Whole({ agent }: { agent: AgentSpec }) {
  const may = useMay("member");
  const [isRemoving, setRemoving] = useState(false);
  return (
    <>
      <PageHead
        title={agent.name}
        from={[["/agents", t("Agents")]]}
        about={
          <>
            {agent.description && <span dir="auto">{agent.description}</span>}
            <span className="block">
              <Mono text={agent.slug} />
            </span>
          </>
        }
      >
        {may && (
          <>
            <IconButton icon={Trash2} label={t("Delete agent")} onClick={() => setRemoving(true)} />
            <ChatWith agentId={agent.id}>{t("New chat")}</ChatWith>
          </>
        )}
      </PageHead>
      {may ? (
        <Held of={agent}>{(base, onDirty) => <Edit agent={base} onDirty={onDirty} />}</Held>
      ) : (
        <Section title={t("Agent")}>
          <pre
            dir="auto"
            className="overflow-x-auto font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            {agent.markdown}
          </pre>
        </Section>
      )}
      <Section title={t("Details")}>
        <Facts
          of={[
            ["ID", <Mono key="id" text={agent.id} />],
            [t("Created"), <When key="made" at={agent.createdAt} />],
            [t("Updated"), <When key="changed" at={agent.updatedAt} />],
          ]}
        />
      </Section>
      {isRemoving && <Remove agent={agent} onClose={() => setRemoving(false)} />}
    </>
  );
}

function Edit({ agent, onDirty }: { agent: AgentSpec; onDirty: (isDirty: boolean) => void }) {
  const [markdown, setMarkdown] = useState(agent.markdown);
  const [judged, setJudged] = useState("");
  const save = useChange("PATCH /api/v1/agents/specs/{spec_id}", {
    basedOn: agent,
    touches: ["/agents/specs"],
    tellsErrors: false,
    done: t("Agent saved"),
    onDone: () => onDirty(false),
  });
  const isChanged = markdown !== agent.markdown;
  const send = () => {
    if (!isChanged) return;
    setJudged(markdown);
    save.mutate({ path: { spec_id: agent.id }, body: { markdown } });
  };
  return (
    <FormFrame
      title={t("Agent")}
      aside={t("Markdown with YAML front matter")}
      call={save}
      drawn={["markdown"]}
      isChanged={isChanged}
      isReady={markdown.trim() !== ""}
      onSend={send}
    >
      <AgentEditor
        markdown={markdown}
        onChange={(next) => {
          setMarkdown(next);
          onDirty(next !== agent.markdown);
        }}
        faults={faultsOf(save.error)}
        judged={judged}
        onSubmit={send}
      />
    </FormFrame>
  );
}

/** Maximum number of the user's own threads to read. */
const LOOKED_AT = 100;

/** Confirms deleting an agent, and shows what refers to it. */
function Remove({ agent, onClose }: { agent: AgentSpec; onClose: () => void }) {
  const [, go] = useLocation();
  const threads = useApi("GET /api/v1/chat/threads", { query: { limit: LOOKED_AT } });
  const actions = useAll("GET /api/v1/actions", { kinds: ["call_agent"] }, ({ actions: items }) => items);
  const own = (threads.data?.items ?? []).filter(({ agentSpecId }) => agentSpecId === agent.id).length;
  const users = (actions.data ?? []).filter(({ definition }) => {
    const text = JSON.stringify(definition);
    return text.includes(agent.id) || text.includes(JSON.stringify(agent.slug));
  });
  const remove = useChange("DELETE /api/v1/agents/specs/{spec_id}", {
    touches: ["/agents/specs"],
    done: t("{name} deleted", { name: agent.name }),
    onDone: () => go("/agents"),
  });
  return (
    <Confirm
      title={t("Delete {name}?", { name: agent.name })}
      verb={t("Delete")}
      isBusy={remove.isPending || threads.isPending || actions.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { spec_id: agent.id } }, { onError: onClose })}
    >
      <p>
        {own > 0 &&
          plural(own, {
            one: "# of your chats uses this agent.",
            other: "# of your chats use this agent.",
          })}{" "}
        {t("Its chats stay readable. Assign another agent to continue them. {cantUndo}", {
          cantUndo: cantUndo(),
        })}
      </p>
      {users.length > 0 && (
        <div>
          <p>{t("These actions call this agent and will fail without it:")}</p>
          <ul className="mt-1 list-disc pl-5">
            {users.map(({ id, name }) => (
              <li key={id}>{name}</li>
            ))}
          </ul>
        </div>
      )}
    </Confirm>
  );
}
