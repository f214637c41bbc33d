import { useState } from "react";
import { useLocation } from "wouter";
import type { Reply } from "../calls.ts";
import { useChange, useMay } from "../data.ts";
import { TextField } from "../parts/base/labelled.tsx";
import { PageHead } from "../parts/base/page.tsx";
import { AdminsOnly } from "../parts/base/role.tsx";
import { ShownOnce } from "../parts/base/shown-once.tsx";
import { FormFrame, messagesBy } from "../parts/form/frame.tsx";
import { EventPicker } from "../parts/webhooks/event-picker.tsx";
import { t } from "../texts/text.ts";

export default function NewWebhook() {
  const may = useMay("admin");
  const [, go] = useLocation();
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<string[]>([]);
  const [secret, setSecret] = useState("");
  const [made, setMade] = useState<Reply<"POST /api/v1/webhooks"> | null>(null);
  const create = useChange("POST /api/v1/webhooks", {
    touches: ["/webhooks"],
    tellsErrors: false,
    onDone: setMade,
  });
  const messageFor = messagesBy(create.error);
  return (
    <>
      <PageHead title={t("New webhook")} from={[["/webhooks", t("Webhooks")]]} />
      {may ? (
        <FormFrame
          title={t("Webhook")}
          call={create}
          drawn={["url", "events", "secret"]}
          verb={t("Create webhook")}
          onSend={() => create.mutate({ body: { url, events, ...(secret ? { secret } : {}) } })}
        >
          <div className="space-y-4">
            <TextField
              label="URL"
              isRequired
              value={url}
              onChange={setUrl}
              fault={messageFor("url")}
              about={t("Weir sends events to this URL as JSON, in POST requests.")}
              placeholder="https://example.com/weir"
              maxLength={2048}
              autoFocus
            />
            <EventPicker value={events} onChange={setEvents} fault={messageFor("events")} />
            <TextField
              label={t("Signing secret")}
              type="password"
              value={secret}
              onChange={setSecret}
              fault={messageFor("secret")}
              about={t("Signs every delivery (Standard Webhooks). Leave empty to generate one.")}
              maxLength={512}
            />
          </div>
        </FormFrame>
      ) : (
        <div className="card">
          <AdminsOnly title={t("Only admins can see webhooks")} />
        </div>
      )}
      {made && (
        <ShownOnce
          title={t("Save your signing secret")}
          copyLabel={t("Copy signing secret")}
          text={made.secret}
          onClose={() => go(`/webhooks/${made.id}`)}
        >
          {t("The receiver uses it to check that deliveries come from Weir.")}
        </ShownOnce>
      )}
    </>
  );
}
