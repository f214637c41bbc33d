import { Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import type { OutboundDelivery, Webhook } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button, IconButton } from "../parts/base/button.tsx";
import { Mono } from "../parts/base/copy.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { errorLine } from "../parts/base/error-text.tsx";
import { Facts, PageHead, Section, Shown, useTab } from "../parts/base/page.tsx";
import { plural } from "../parts/base/plural.ts";
import { AdminsOnly } from "../parts/base/role.tsx";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { notify } from "../parts/base/toast.tsx";
import { Held } from "../parts/layout/detail.tsx";
import { OutboundDeliveries } from "../parts/webhooks/deliveries.tsx";
import { WebhookSecret, WebhookSettings } from "../parts/webhooks/settings.tsx";
import { t } from "../texts/text.ts";

export default function WebhookPage({ id }: { id: string }) {
  const may = useMay("admin");
  const webhook = useApi("GET /api/v1/webhooks/{webhook_id}", { path: { webhook_id: id } }, { enabled: may });
  if (!may)
    return (
      <>
        <PageHead title={t("Webhook")} from={[["/webhooks", t("Webhooks")]]} />
        <div className="card">
          <AdminsOnly title={t("Only admins can see webhooks")} />
        </div>
      </>
    );
  return (
    <Shown of={webhook} isPage>
      {(data) => <Whole webhook={data} />}
    </Shown>
  );
}

function Whole({ webhook }: { webhook: Webhook }) {
  const tabs = useTab([
    ["deliveries", t("Deliveries")],
    ["settings", t("Settings")],
  ]);
  return (
    <>
      <PageHead
        title={webhook.url}
        from={[["/webhooks", t("Webhooks")]]}
        beside={<Status status={webhook.status} />}
        about={
          <span className="flex flex-wrap gap-x-3">
            <span>
              {webhook.events.includes("*") ? t("All events") : webhook.events.slice(0, 4).join(", ")}
              {webhook.events.length > 4 && ` +${webhook.events.length - 4}`}
            </span>
          </span>
        }
      >
        <WebhookActions webhook={webhook} />
      </PageHead>
      {webhook.status === "disabled" && (
        <p role="status" className="mb-5 rounded-lg bg-warn-soft px-4 py-3 text-sm text-warn">
          {t("{disabledReason} Events are queued while it's disabled and delivered when you enable it.", {
            disabledReason: webhook.disabledReason ?? t("This webhook is disabled."),
          })}
        </p>
      )}
      {tabs.bar}
      {tabs.current === "settings" ? (
        <>
          <Held of={webhook}>{(base, onDirty) => <WebhookSettings webhook={base} onDirty={onDirty} />}</Held>
          <WebhookSecret webhook={webhook} />
          <Section title={t("Details")}>
            <Facts
              of={[
                ["ID", <Mono key="id" text={webhook.id} />],
                [t("Created"), <When key="made" at={webhook.createdAt} />],
                [t("Updated"), <When key="changed" at={webhook.updatedAt} />],
              ]}
            />
          </Section>
        </>
      ) : (
        <OutboundDeliveries webhook={webhook} />
      )}
    </>
  );
}

/** Result of a test, in a sentence. */
function testLine({ status, replyCode, durationMs, error }: OutboundDelivery): string {
  if (status === "delivered")
    return t("The receiver returned {replyCode} in {durationMs} ms", {
      replyCode: String(replyCode),
      durationMs: String(durationMs),
    });
  return (
    errorLine(error) ??
    (replyCode === null
      ? t("The receiver didn't respond")
      : t("The receiver returned {replyCode}", { replyCode }))
  );
}

function WebhookActions({ webhook }: { webhook: Webhook }) {
  const [isRemoving, setRemoving] = useState(false);
  const [, setSearch] = useSearchParams();
  const isOff = webhook.status === "disabled";
  const path = { webhook_id: webhook.id };
  const turn = useChange("PATCH /api/v1/webhooks/{webhook_id}", {
    touches: ["/webhooks"],
    done: isOff ? t("Webhook enabled. Delivering queued events.") : t("Webhook disabled. Events are queued."),
  });
  const test = useChange("POST /api/v1/webhooks/{webhook_id}/test", {
    touches: ["/webhooks"],
    onDone(delivery) {
      notify(testLine(delivery), delivery.status === "delivered" ? "good" : "bad");
      setSearch({ delivery: delivery.id });
    },
  });
  return (
    <>
      <IconButton icon={Trash2} label={t("Delete webhook")} onClick={() => setRemoving(true)} />
      <Button
        busy={turn.isPending}
        onClick={() => turn.mutate({ path, body: { status: isOff ? "active" : "disabled" } })}
      >
        {isOff ? t("Enable") : t("Disable")}
      </Button>
      <Button kind="main" icon={Send} busy={test.isPending} onClick={() => test.mutate({ path })}>
        {t("Send test")}
      </Button>
      {isRemoving && <Remove webhook={webhook} onClose={() => setRemoving(false)} />}
    </>
  );
}

/** Maximum number of pending deliveries to count. */
const COUNTED = 200;

function Remove({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [, go] = useLocation();
  const path = { webhook_id: webhook.id };
  const pending = useApi("GET /api/v1/webhooks/{webhook_id}/deliveries", {
    path,
    query: { status: "pending", limit: COUNTED },
  });
  const retrying = useApi("GET /api/v1/webhooks/{webhook_id}/deliveries", {
    path,
    query: { status: "retrying", limit: COUNTED },
  });
  const waiting = (pending.data?.items.length ?? 0) + (retrying.data?.items.length ?? 0);
  const isMore = pending.data?.nextCursor !== undefined || retrying.data?.nextCursor !== undefined;
  const dropped =
    waiting === 0
      ? t("No deliveries are pending.")
      : isMore
        ? plural(waiting, {
            one: "#+ pending deliveries are dropped.",
            other: "#+ pending deliveries are dropped.",
          })
        : plural(waiting, {
            one: "# pending delivery is dropped.",
            other: "# pending deliveries are dropped.",
          });
  const remove = useChange("DELETE /api/v1/webhooks/{webhook_id}", {
    touches: ["/webhooks", "/dead-letters"],
    done: t("Webhook deleted"),
    onDone: () => go("/webhooks"),
  });
  return (
    <Confirm
      title={t("Delete this webhook?")}
      verb={t("Delete")}
      isBusy={remove.isPending || pending.isPending || retrying.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path }, { onError: onClose })}
    >
      <p className="[overflow-wrap:anywhere]">
        {t(
          "Weir stops sending events to {url}. Its delivery history is deleted, and its dead letters can no longer be replayed.",
          { url: webhook.url },
        )}
      </p>
      <p>{dropped}</p>
      {webhook.status === "disabled" && <p>{t("Queued events are dropped too.")}</p>}
    </Confirm>
  );
}
