import { useState } from "react";
import type { SCOPES as Scopes } from "../../../src/resources/access-tokens/table.ts";
import type { Reply } from "../../calls.ts";
import { useChange, useMe } from "../../data.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Tag } from "../base/status.tsx";
import { useNow, When } from "../base/time.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";
import { useOlder } from "../table/older.tsx";
import { Credentials } from "./credentials.tsx";

type Made = Reply<"POST /api/v1/access-tokens">;

type Scope = Made["scopes"][number];
const SCOPES: typeof Scopes = ["read", "run", "write", "approve", "admin"];
const DAYS = [7, 30, 90, 180, 365] as const;

/** The person's own, in this organization. */
export function AccessTokens() {
  const now = useNow();
  const { current } = useMe();
  const list = useOlder("GET /api/v1/access-tokens", {});
  const revoke = useChange("DELETE /api/v1/access-tokens/{token_id}", { touches: ["/access-tokens"] });
  return (
    <Credentials
      noun="access token"
      about={`They act as you in ${current?.organization.name ?? "this organization"}, with your role, until they run out. Nobody else sees them.`}
      list={list}
      columns={[
        {
          name: "Scopes",
          cell: ({ scopes }) => scopes.join(", "),
        },
        {
          name: "Runs out",
          isRight: true,
          cell: ({ expiresAt }) =>
            Date.parse(expiresAt) < now ? <Tag tone="warn">has run out</Tag> : <When at={expiresAt} />,
        },
      ]}
      empty="The weir command and scripts of yours sign in with one."
      short="token"
      make={(onClose, onMade) => <NewToken onClose={onClose} onMade={onMade} />}
      secretOf={({ token }: Made) => token}
      header="Authorization: Bearer …"
      loss="Whatever uses it is refused from the next request on. It can't be had back."
      revoke={(id, then) => revoke.mutate({ path: { token_id: id } }, then)}
      isRevoking={revoke.isPending}
    />
  );
}

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState<number>(90);
  const [scopes, setScopes] = useState<readonly Scope[]>(SCOPES);
  const create = useChange("POST /api/v1/access-tokens", {
    touches: ["/access-tokens"],
    tellsErrors: false,
    onDone: onMade,
  });
  const messageFor = messagesBy(create.error);
  const isAll = scopes.length === SCOPES.length;
  return (
    <FormDialog
      title="New access token"
      verb="Make the token"
      call={create}
      onClose={onClose}
      onSend={() =>
        create.mutate({ body: { name, expiresInDays: days, ...(isAll ? {} : { scopes: [...scopes] }) } })
      }
    >
      <TextField
        label="Name"
        isRequired
        value={name}
        onChange={setName}
        fault={messageFor("name")}
        about="What it is for, so that you know it again."
        maxLength={255}
      />
      <Labelled label="Good for" fault={messageFor("expiresInDays")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={days}
            onChange={(event) => setDays(Number(event.target.value))}
          >
            {DAYS.map((count) => (
              <option key={count} value={count}>
                {count} days
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <fieldset>
        <legend className="label">Scopes</legend>
        {SCOPES.map((scope) => (
          <label key={scope} className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={({ target }) =>
                setScopes(SCOPES.filter((each) => (each === scope ? target.checked : scopes.includes(each))))
              }
            />
            {scope}
          </label>
        ))}
        {messageFor("scopes") && <p className="mt-1 text-xs text-bad">{messageFor("scopes")}</p>}
      </fieldset>
    </FormDialog>
  );
}
