import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Webhook } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { ShownOnce } from "../base/shown-once.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { EventPicker } from "./event-picker.tsx";

/** URL and events of a subscription. */
export function WebhookSettings({
  webhook,
  onDirty,
}: {
  webhook: Webhook;
  onDirty: (isDirty: boolean) => void;
}) {
  const [url, setUrl] = useState(webhook.url);
  const [events, setEvents] = useState<string[]>(webhook.events);
  const save = useChange("PATCH /api/v1/webhooks/{webhook_id}", {
    basedOn: webhook,
    touches: ["/webhooks"],
    tellsErrors: false,
    done: t("Webhook saved"),
    onDone: () => onDirty(false),
  });
  const changes = {
    ...(url === webhook.url ? {} : { url }),
    ...(JSON.stringify(events) === JSON.stringify(webhook.events) ? {} : { events }),
  };
  const messageFor = messagesBy(save.error);
  return (
    <FormFrame
      title={t("Settings")}
      call={save}
      drawn={["url", "events"]}
      isChanged={Object.keys(changes).length > 0}
      onSend={() => save.mutate({ path: { webhook_id: webhook.id }, body: changes })}
    >
      <div className="space-y-4">
        <TextField
          label="URL"
          isRequired
          value={url}
          onChange={(next) => {
            setUrl(next);
            onDirty(true);
          }}
          fault={messageFor("url")}
          maxLength={2048}
        />
        <EventPicker
          value={events}
          onChange={(next) => {
            setEvents(next);
            onDirty(true);
          }}
          fault={messageFor("events")}
        />
      </div>
    </FormFrame>
  );
}

/** Signing secret of a subscription, which is never shown again, but can be replaced. */
export function WebhookSecret({ webhook }: { webhook: Webhook }) {
  const [asks, setAsks] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const rotate = useChange("POST /api/v1/webhooks/{webhook_id}/rotate-secret", {
    touches: ["/webhooks"],
    onDone(reply) {
      setAsks(false);
      setSecret(reply.secret);
    },
  });
  return (
    <Section
      title={t("Signing secret")}
      aside={
        <Button icon={KeyRound} onClick={() => setAsks(true)}>
          {t("Rotate")}
        </Button>
      }
    >
      <p className="text-sm text-soft">
        {t(
          "The signing secret signs every delivery. It was shown once, at creation. Rotate it to get a new one.",
        )}
      </p>
      {asks && (
        <Confirm
          title={t("Rotate signing secret?")}
          verb={t("Rotate")}
          isBusy={rotate.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() => rotate.mutate({ path: { webhook_id: webhook.id }, body: {} })}
        >
          <p>
            {t(
              "X-SVC-Signature uses the new secret immediately. For 24 hours, deliveries also carry a signature made with the old secret, in X-SVC-Signature-Previous and as the second entry of webhook-signature. Receivers that check neither need the new secret immediately.",
            )}
          </p>
        </Confirm>
      )}
      {secret !== null && (
        <ShownOnce
          title={t("Save your signing secret")}
          copyLabel={t("Copy signing secret")}
          text={secret}
          onClose={() => setSecret(null)}
        >
          {t("The old secret also works for 24 hours.")}
        </ShownOnce>
      )}
    </Section>
  );
}
