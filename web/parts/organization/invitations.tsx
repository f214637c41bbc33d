import { MailPlus, X } from "lucide-react";
import { useState } from "react";
import type { Reply, Role } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { useNew } from "../base/new.ts";
import { Section } from "../base/page.tsx";
import { RoleField } from "../base/role.tsx";
import { roleName } from "../base/role-name.ts";
import { ShownOnce } from "../base/shown-once.tsx";
import { Tag } from "../base/status.tsx";
import { useNow, When } from "../base/time.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

type Invitation = Reply<"GET /api/v1/organizations/invitations">["items"][number];
type Made = Reply<"POST /api/v1/organizations/invitations">;

/** Opens the form of a new invitation. */
export function InviteButton() {
  const [, setAsking] = useNew();
  return (
    <Button kind="main" icon={MailPlus} onClick={() => setAsking(true)}>
      {t("Invite member")}
    </Button>
  );
}

/** Pending invitations. */
export function Invitations() {
  const now = useNow();
  const [isAsking, setAsking] = useNew();
  const [made, setMade] = useState<Made | null>(null);
  const [gone, setGone] = useState<Invitation | null>(null);
  const invitations = useOlder("GET /api/v1/organizations/invitations", {});
  const columns: readonly Column<Invitation>[] = [
    { name: t("Email"), isWide: true, cell: ({ email }) => <Named name={email} /> },
    { name: t("Role"), cell: ({ roleSlug }) => <Tag>{roleName(roleSlug as Role)}</Tag> },
    {
      name: t("Expires"),
      isRight: true,
      isMinor: true,
      cell: ({ expiresAt }) =>
        Date.parse(expiresAt) < now ? <Tag tone="warn">{t("Expired")}</Tag> : <When at={expiresAt} />,
    },
    {
      name: t("Actions"),
      isRight: true,
      isUntitled: true,
      cell: (invitation) => (
        <IconButton
          icon={X}
          label={t("Revoke invitation for {email}", { email: invitation.email })}
          onClick={() => setGone(invitation)}
        />
      ),
    },
  ];
  return (
    <Section title={t("Invitations")} flush>
      <Older of={invitations} rows={2}>
        {(items) =>
          items.length > 0 ? (
            <Table label={t("Invitations")} columns={columns} rows={items} keyOf={({ id }) => id} />
          ) : (
            <p className="p-4 text-sm text-soft">
              {t("No pending invitations. Invitation links expire after 7 days and work once.")}
            </p>
          )
        }
      </Older>
      {isAsking && (
        <Invite
          onClose={() => setAsking(false)}
          onMade={(invitation) => {
            setAsking(false);
            setMade(invitation);
          }}
        />
      )}
      {made && (
        <ShownOnce
          title={t("Send this link to {email}", { email: made.email })}
          copyLabel={t("Copy link")}
          text={made.inviteUrl}
          onClose={() => setMade(null)}
        >
          {made.warnings?.join(" ") ?? t("The invitation was emailed to {email}.", { email: made.email })}{" "}
          {t(
            "The link expires after 7 days and works once. If the address already has an account, they sign in with it.",
          )}
        </ShownOnce>
      )}
      {gone && <Withdraw invitation={gone} onClose={() => setGone(null)} />}
    </Section>
  );
}

function Invite({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const [email, setEmail] = useState("");
  const [roleSlug, setRole] = useState<Role>("member");
  const create = useChange("POST /api/v1/organizations/invitations", {
    touches: ["/invitations"],
    tellsErrors: false,
    onDone: onMade,
  });
  const messageFor = messagesBy(create.error);
  return (
    <FormDialog
      title={t("Invite member")}
      verb={t("Create invitation")}
      call={create}
      onClose={onClose}
      onSend={() => create.mutate({ body: { email, roleSlug } })}
    >
      <TextField
        label={t("Email")}
        type="email"
        isRequired
        value={email}
        onChange={setEmail}
        fault={messageFor("email")}
        maxLength={254}
      />
      <RoleField value={roleSlug} onChange={setRole} fault={messageFor("roleSlug")} />
    </FormDialog>
  );
}

function Withdraw({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const remove = useChange("DELETE /api/v1/organizations/invitations/{invitation_id}", {
    touches: ["/invitations"],
    done: t("Invitation revoked"),
    onDone: onClose,
  });
  return (
    <Confirm
      title={t("Revoke invitation for {email}?", { email: invitation.email })}
      verb={t("Revoke")}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { invitation_id: invitation.id } }, { onError: onClose })}
    >
      <p>{t("The link stops working immediately.")}</p>
    </Confirm>
  );
}
