import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Webhook } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { ShownOnce } from "../base/shown-once.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { EventPicker } from "./event-picker.tsx";

/** Where a subscription sends to, and what. */
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
    touches: ["/webhooks"],
    tellsErrors: false,
    done: "Saved",
    onDone: () => onDirty(false),
  });
  const changes = {
    ...(url === webhook.url ? {} : { url }),
    ...(JSON.stringify(events) === JSON.stringify(webhook.events) ? {} : { events }),
  };
  const messageFor = messagesBy(save.error);
  return (
    <FormFrame
      title="What is sent where"
      call={save}
      drawn={["url", "events"]}
      isChanged={Object.keys(changes).length > 0}
      onSend={() => save.mutate({ path: { webhook_id: webhook.id }, body: changes })}
    >
      <div className="space-y-4">
        <TextField
          label="Address"
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

/** What a subscription signs with: never shown again, but made anew. */
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
      title="Secret"
      aside={
        <Button icon={KeyRound} onClick={() => setAsks(true)}>
          Rotate
        </Button>
      }
    >
      <p className="text-sm text-soft">
        It signs each delivery, was shown once and is not shown again. Rotating makes a new one.
      </p>
      {asks && (
        <Confirm
          title="Make a new secret?"
          verb="Rotate"
          isBusy={rotate.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() => rotate.mutate({ path: { webhook_id: webhook.id }, body: {} })}
        >
          <p>
            From now on X-SVC-Signature is made with the new secret. For 24 hours deliveries carry a signature
            by the old one too: in X-SVC-Signature-Previous, and as the second entry of webhook-signature. A
            receiver that looks at neither needs the new secret at once.
          </p>
        </Confirm>
      )}
      {secret !== null && (
        <ShownOnce
          title="Keep the new secret"
          name="the secret"
          text={secret}
          onClose={() => setSecret(null)}
        >
          The old one signs too for 24 hours.
        </ShownOnce>
      )}
    </Section>
  );
}
