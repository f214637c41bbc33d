import { useState } from "react";
import type { Reply, Role } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { TextField } from "../base/labelled.tsx";
import { AdminsOnly, RoleField } from "../base/role.tsx";
import { Tag } from "../base/status.tsx";
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
        <AdminsOnly what="API keys" />
      </div>
    );
  return (
    <Credentials
      noun="API key"
      about="They act for the organization and belong to no person: they stay when people leave, and don't run out."
      list={list}
      columns={[{ name: "Role", cell: ({ roleSlug }) => <Tag>{roleSlug}</Tag> }]}
      empty="Systems that run for good, such as a nightly import, use one."
      short="key"
      make={(onClose, onMade) => <NewKey onClose={onClose} onMade={onMade} />}
      secretOf={({ key }: Made) => key}
      header="X-API-Key: …"
      loss="Whatever system uses it is refused from the next request on. It can't be had back; make the new one first."
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
      verb="Make the key"
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
        about="The system that is to use it."
        maxLength={255}
      />
      <RoleField value={roleSlug} onChange={setRole} fault={messageFor("roleSlug")} />
    </FormDialog>
  );
}
