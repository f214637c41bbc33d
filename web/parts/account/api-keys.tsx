import { useState } from "react";
import type { Reply, Role } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { TextField } from "../base/labelled.tsx";
import { AdminsOnly, RoleField } from "../base/role.tsx";
import { roleName } from "../base/role-name.ts";
import { Tag } from "../base/status.tsx";
import { cantUndo } from "../base/texts.ts";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";
import { useOlder } from "../table/older.tsx";
import { Credentials } from "./credentials.tsx";

type Made = Reply<"POST /api/v1/api-keys">;

/** The organization's API keys, which don't belong to a user. */
export function ApiKeys() {
  const may = useMay("admin");
  const list = useOlder("GET /api/v1/api-keys", {}, { enabled: may });
  const revoke = useChange("DELETE /api/v1/api-keys/{key_id}", { touches: ["/api-keys"] });
  if (!may)
    return (
      <div className="card">
        <AdminsOnly title={t("Only admins can see API keys")} />
      </div>
    );
  return (
    <Credentials
      texts={{
        create: t("New API key"),
        label: t("API keys"),
        none: t("No API keys yet"),
        save: t("Save your API key"),
        copy: t("Copy key"),
      }}
      about={t("API keys belong to the organization, not to a user, and don't expire.")}
      list={list}
      columns={[{ name: t("Role"), cell: ({ roleSlug }) => <Tag>{roleName(roleSlug as Role)}</Tag> }]}
      empty={t("Use API keys for servers and scheduled jobs.")}
      make={(onClose, onMade) => <NewKey onClose={onClose} onMade={onMade} />}
      secretOf={({ key }: Made) => key}
      header="X-API-Key: KEY"
      loss={t(
        "Requests that use this key fail immediately. {cantUndo} To rotate a key, create the new one first.",
        { cantUndo: cantUndo() },
      )}
      revoke={(id, then) => revoke.mutate({ path: { key_id: id } }, then)}
      isRevoking={revoke.isPending}
    />
  );
}

function NewKey({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const [name, setName] = useState("");
  const [roleSlug, setRole] = useState<Role>("member");
  const create = useChange("POST /api/v1/api-keys", {
    touches: ["/api-keys"],
    tellsErrors: false,
    onDone: onMade,
  });
  const messageFor = messagesBy(create.error);
  return (
    <FormDialog
      title={t("New API key")}
      verb={t("Create key")}
      call={create}
      onClose={onClose}
      onSend={() => create.mutate({ body: { name, roleSlug } })}
    >
      <TextField
        label={t("Name")}
        isRequired
        value={name}
        onChange={setName}
        fault={messageFor("name")}
        about={t("The system that uses this key")}
        maxLength={255}
      />
      <RoleField value={roleSlug} onChange={setRole} fault={messageFor("roleSlug")} />
    </FormDialog>
  );
}
