import { Send } from "lucide-react";
import { useState } from "react";
import { type Answer, post } from "../../api.ts";
import type { Automation, InboundDelivery } from "../../calls.ts";
import { useApi, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { TextField } from "../base/labelled.tsx";
import { Facts, Section, Shown } from "../base/page.tsx";
import { Status } from "../base/status.tsx";
import { inWords, When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { Code } from "../editor/code.tsx";
import { type Column, Table } from "../table/table.tsx";
import { NewSecret } from "./new-secret.tsx";
import { testSenderOf, type WebhookConfig } from "./test-sender.ts";

const COLUMNS: readonly Column<InboundDelivery>[] = [
  { name: t("Delivery"), cell: ({ id }) => <code className="font-mono text-xs">{id.slice(-12)}</code> },
  { name: t("Status"), cell: ({ status }) => <Status status={status} /> },
  {
    name: t("Response"),
    isMinor: true,
    cell: ({ replyCode }) => <span className="tabular-nums">{replyCode ?? "–"}</span>,
  },
  { name: t("Attempts"), isMinor: true, isRight: true, cell: ({ attempts }) => attempts },
  { name: t("Received"), isRight: true, cell: ({ receivedAt }) => <When at={receivedAt} /> },
];

/** URL of a webhook, and a form that sends a signed test request. */
export function Tester({
  automation,
  known = "",
}: {
  automation: Automation /** Its secret, if it was just created. */;
  known?: string;
}) {
  const sender = testSenderOf(automation.config as WebhookConfig);
  const may = useMay("member");
  const [secret, setSecret] = useState(known);
  const [body, setBody] = useState('{\n  "hello": "Weir"\n}');
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const deliveries = useApi("GET /api/v1/webhook-deliveries", {
    query: { automation_id: automation.id, limit: 20 },
  });
  const url = automation.webhookUrl ?? "";
  const canSign = !sender.signs || typeof crypto.subtle !== "undefined";
  const send = async () => {
    setBusy(true);
    setProblem(null);
    setAnswer(null);
    try {
      const headers = { "content-type": "application/json", ...(await sender.headers?.(secret, body)) };
      setAnswer(await post(new URL(url).pathname, body, headers));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : t("Couldn't send the test."));
    }
    setBusy(false);
    void deliveries.refetch();
  };
  let shown: unknown = answer?.text;
  try {
    shown = JSON.parse(answer?.text ?? "");
  } catch {
    // then it is shown as text
  }
  return (
    <>
      <Section title="URL">
        <Facts of={[[t("Webhook URL"), <Mono key="url" text={url} />], ...sender.about]} />
      </Section>
      <Section title={t("Send test")}>
        {sender.headers === null ? (
          <p className="text-sm text-soft">
            {t("Tests aren't available for this sender: only it holds the signing key.")}
          </p>
        ) : canSign ? (
          <form
            className="space-y-4"
            onSubmit={(event) => {
              event.preventDefault();
              void send();
            }}
          >
            <TextField
              label={t("Secret")}
              type="password"
              isRequired
              value={secret}
              onChange={setSecret}
              about={
                sender.signs
                  ? t("The secret shown at creation. It signs the test in your browser and is never sent.")
                  : t("The sender's credential. It is sent with the request.")
              }
            />
            <div>
              <p className="mb-1 text-sm font-medium">{t("Body")}</p>
              <Code
                language="json"
                label={t("Body")}
                value={body}
                onChange={setBody}
                minHeight={110}
                onSubmit={() => void send()}
              />
            </div>
            <div className="flex flex-wrap items-center gap-2">
              <Button type="submit" kind="main" icon={Send} busy={isBusy} disabled={secret === ""}>
                {sender.signs ? t("Sign and send") : t("Send")}
              </Button>
              {may && sender.signs && <NewSecret automation={automation} onMade={setSecret} />}
              {isBusy && (
                <span className="text-sm text-soft">
                  {t("The response arrives when the run finishes or pauses.")}
                </span>
              )}
            </div>
          </form>
        ) : (
          <p className="text-sm text-soft">{t("Signing requires HTTPS or localhost.")}</p>
        )}
        {problem && (
          <p role="alert" className="mt-3 text-sm text-bad">
            {problem}
          </p>
        )}
        {answer && (
          <div className="mt-4 rounded-md border border-line p-3" role="status">
            <p className="mb-2 text-sm">
              <span className={`font-semibold ${answer.status < 300 ? "text-good" : "text-bad"}`}>
                {answer.status}
              </span>
              <span className="ml-2 text-soft">{inWords(answer.durationSeconds)}</span>
            </p>
            <Tree value={shown} copyLabel={t("Copy response as JSON")} />
          </div>
        )}
      </Section>
      <Section title={t("Deliveries")} flush>
        <Shown of={deliveries}>
          {({ items }) =>
            items.length === 0 ? (
              <p className="p-4 text-sm text-soft">{t("No deliveries yet")}</p>
            ) : (
              <Table
                label={t("Deliveries")}
                columns={COLUMNS}
                rows={items}
                keyOf={({ id }) => id}
                hrefOf={({ automationRunId }) =>
                  automationRunId ? `/automation-runs/${automationRunId}` : null
                }
              />
            )
          }
        </Shown>
      </Section>
    </>
  );
}
