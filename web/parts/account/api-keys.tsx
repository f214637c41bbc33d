import { useState } from "react";
import type { Reply, Role } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { TextField } from "../base/labelled.tsx";
import { AdminsOnly, RoleField } from "../base/role.tsx";
import { Tag } from "../base/status.tsx";
import { CANT_UNDO } from "../base/texts.ts";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";
import { useOlder } from "../table/older.tsx";
import { Credentials } from "./credentials.tsx";

type Made = Reply<"POST /api/v1/api-keys">;

/** The organization's own, which belong to no person. */
export function ApiKeys() {
  const may = useMay("admin");
  const list = useOlder("GET /api/v1/api-keys", {}, { enabled: may });
  const revoke = useChange("DELETE /api/v1/api-keys/{key_id}", { touches: ["/api-keys"] });
  if (!may)
    return (
      <div className="card">
        <AdminsOnly title="Only admins can see API keys" />
      </div>
    );
  return (
    <Credentials
      texts={{
        create: "New API key",
        label: "API keys",
        none: "No API keys yet",
        save: "Save your API key",
        copy: "Copy key",
      }}
      about="API keys belong to the organization, not to a user, and don't expire."
      list={list}
      columns={[{ name: "Role", cell: ({ roleSlug }) => <Tag>{roleSlug}</Tag> }]}
      empty="Use API keys for servers and scheduled jobs."
      make={(onClose, onMade) => <NewKey onClose={onClose} onMade={onMade} />}
      secretOf={({ key }: Made) => key}
      header="X-API-Key: KEY"
      loss={`Requests that use this key fail immediately. ${CANT_UNDO} To rotate a key, create the new one first.`}
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
      title="New API key"
      verb="Create key"
      call={create}
      onClose={onClose}
      onSend={() => create.mutate({ body: { name, roleSlug } })}
    >
      <TextField
        label="Name"
        isRequired
        value={name}
        onChange={setName}
        fault={messageFor("name")}
        about="The system that uses this key"
        maxLength={255}
      />
      <RoleField value={roleSlug} onChange={setRole} fault={messageFor("roleSlug")} />
    </FormDialog>
  );
}
