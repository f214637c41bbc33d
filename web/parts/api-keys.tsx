import { useState } from "react";
import type { Reply } from "../calls.ts";
import { useChange, useMay } from "../data.ts";
import { Credentials, FormDialog } from "./credentials.tsx";
import { Confirm } from "./dialog.tsx";
import { toldBy } from "./form-frame.tsx";
import { TextField } from "./labelled.tsx";
import { useOlder } from "./older.tsx";
import { AdminsOnly, type Role, RoleField } from "./role.tsx";
import { ShownOnce } from "./shown-once.tsx";
import { Tag } from "./status.tsx";

type Made = Reply<"POST /api/v1/api-keys">;

/** The organization's own, which belong to no person. */
export function ApiKeys() {
  const may = useMay("admin");
  const [made, setMade] = useState<Made | null>(null);
  const list = useOlder("GET /api/v1/api-keys", {}, { enabled: may });
  if (!may)
    return (
      <div className="card">
        <AdminsOnly what="API keys" />
      </div>
    );
  return (
    <>
      <Credentials
        noun="API key"
        about="They act for the organization and belong to no person: they stay when people leave, and don't run out."
        list={list}
        columns={[{ name: "Role", cell: ({ roleSlug }) => <Tag>{roleSlug}</Tag> }]}
        empty="Systems that run for good, such as a nightly import, use one."
        make={(onClose) => (
          <NewKey
            onClose={onClose}
            onMade={(key) => {
              onClose();
              setMade(key);
            }}
          />
        )}
        revoke={(key, onClose) => <Revoke of={key} onClose={onClose} />}
      />
      {made && (
        <ShownOnce
          title={`Keep the key ${made.name}`}
          name="the key"
          text={made.key}
          onClose={() => setMade(null)}
        >
          Programs send it as <code className="font-mono text-xs">X-API-Key: …</code>.
        </ShownOnce>
      )}
    </>
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
  const told = toldBy(create.error);
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
        fault={told("name")}
        about="The system that is to use it."
        maxLength={255}
      />
      <RoleField value={roleSlug} onChange={setRole} fault={told("roleSlug")} />
    </FormDialog>
  );
}

function Revoke({ of: key, onClose }: { of: { id: string; name: string }; onClose: () => void }) {
  const revoke = useChange("DELETE /api/v1/api-keys/{key_id}", {
    touches: ["/api-keys"],
    done: `Revoked ${key.name}`,
    onDone: onClose,
  });
  return (
    <Confirm
      title={`Revoke ${key.name}?`}
      verb="Revoke"
      isBusy={revoke.isPending}
      onClose={onClose}
      onConfirm={() => revoke.mutate({ path: { key_id: key.id } }, { onError: onClose })}
    >
      <p>
        Whatever system uses it is refused from the next request on. It can't be had back; make the new one
        first.
      </p>
    </Confirm>
  );
}
