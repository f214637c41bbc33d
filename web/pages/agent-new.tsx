import { useState } from "react";
import { useLocation } from "wouter";
import { useChange } from "../data.ts";
import { AgentEditor } from "../parts/agents/editor.tsx";
import { PageHead } from "../parts/base/page.tsx";
import { FormFrame, faultsOf } from "../parts/form/frame.tsx";
import { MembersOnly } from "../parts/layout/members-only.tsx";
import { t } from "../texts/text.ts";

const START = t(`---
name: Analyst
description: Answers questions from the organization's data
tools:
  - query
  - datasets
---
You answer questions about the organization's data.
Look at the datasets first, then query them. Specify which tables your numbers come from.
`);

export default function NewAgent() {
  const [, go] = useLocation();
  const [markdown, setMarkdown] = useState(START);
  const [judged, setJudged] = useState("");
  const create = useChange("POST /api/v1/agents/specs", {
    touches: ["/agents/specs"],
    tellsErrors: false,
    done: ({ name }) => t("{name} created", { name }),
    onDone: ({ id }) => go(`/agents/${id}`),
  });
  const send = () => {
    setJudged(markdown);
    create.mutate({ body: { markdown } });
  };
  return (
    <>
      <PageHead title={t("New agent")} from={[["/agents", t("Agents")]]} />
      <MembersOnly title={t("You need the member role to create agents")}>
        <FormFrame
          title={t("Agent")}
          aside={t("Markdown with YAML front matter")}
          call={create}
          drawn={["markdown"]}
          isReady={markdown.trim() !== ""}
          verb={t("Create agent")}
          onSend={send}
        >
          <AgentEditor
            markdown={markdown}
            onChange={setMarkdown}
            faults={faultsOf(create.error)}
            judged={judged}
            onSubmit={send}
          />
        </FormFrame>
      </MembersOnly>
    </>
  );
}
