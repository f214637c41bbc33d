import { useState } from "react";
import type { SCOPES as Scopes } from "../../../src/resources/access-tokens/table.ts";
import type { Reply } from "../../calls.ts";
import { useChange, useMe } from "../../data.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { plural } from "../base/plural.ts";
import { Tag } from "../base/status.tsx";
import { CANT_UNDO } from "../base/texts.ts";
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
      texts={{
        create: "New access token",
        label: "Access tokens",
        none: "No access tokens yet",
        save: "Save your access token",
        copy: "Copy token",
      }}
      about={`Tokens act on your behalf in ${current?.organization.name ?? "this organization"}, with your role, until they expire. Only you can see them.`}
      list={list}
      columns={[
        {
          name: "Scopes",
          cell: ({ scopes }) => scopes.join(", "),
        },
        {
          name: "Expires",
          isRight: true,
          cell: ({ expiresAt }) =>
            Date.parse(expiresAt) < now ? <Tag tone="warn">Expired</Tag> : <When at={expiresAt} />,
        },
      ]}
      empty="Use access tokens for the weir command and for scripts."
      make={(onClose, onMade) => <NewToken onClose={onClose} onMade={onMade} />}
      secretOf={({ token }: Made) => token}
      header="Authorization: Bearer TOKEN"
      loss={`Requests that use this token fail immediately. ${CANT_UNDO}`}
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
      verb="Create token"
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
        about="What this token is used for"
        maxLength={255}
      />
      <Labelled label="Expires in" fault={messageFor("expiresInDays")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={days}
            onChange={(event) => setDays(Number(event.target.value))}
          >
            {DAYS.map((count) => (
              <option key={count} value={count}>
                {plural(count, { one: "# day", other: "# days" })}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <fieldset>
        <legend className="label">Scopes</legend>
        {SCOPES.map((scope) => (
          <label key={scope} className="flex min-h-6 items-center gap-2">
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
