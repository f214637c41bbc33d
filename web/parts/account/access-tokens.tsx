import { useState } from "react";
import type { SCOPES as Scopes } from "../../../src/resources/access-tokens/table.ts";
import type { Reply } from "../../calls.ts";
import { useChange, useMe } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { plural } from "../base/plural.ts";
import { Tag } from "../base/status.tsx";
import { cantUndo } from "../base/texts.ts";
import { useNow, When } from "../base/time.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";
import { useOlder } from "../table/older.tsx";
import { Credentials } from "./credentials.tsx";

type Made = Reply<"POST /api/v1/access-tokens">;

type Scope = Made["scopes"][number];
const SCOPES: typeof Scopes = ["read", "run", "write", "approve", "admin"];
const DAYS = [7, 30, 90, 180, 365] as const;

/** The user's access tokens in this organization. */
export function AccessTokens() {
  const now = useNow();
  const { current } = useMe();
  const list = useOlder("GET /api/v1/access-tokens", {});
  const revoke = useChange("DELETE /api/v1/access-tokens/{token_id}", { touches: ["/access-tokens"] });
  return (
    <Credentials
      texts={{
        create: t("New access token"),
        label: t("Access tokens"),
        none: t("No access tokens yet"),
        save: t("Save your access token"),
        copy: t("Copy token"),
      }}
      about={t(
        "Tokens act on your behalf in {name}, with your role, until they expire. Only you can see them.",
        { name: current?.organization.name ?? t("this organization") },
      )}
      list={list}
      columns={[
        {
          name: t("Scopes"),
          isMinor: true,
          cell: ({ scopes }) => <span className="whitespace-nowrap">{scopes.join(", ")}</span>,
        },
        {
          name: t("Expires"),
          isRight: true,
          cell: ({ expiresAt }) =>
            Date.parse(expiresAt) < now ? <Tag tone="warn">{t("Expired")}</Tag> : <When at={expiresAt} />,
        },
      ]}
      empty={t("Use access tokens for the weir command and for scripts.")}
      make={(onClose, onMade) => <NewToken onClose={onClose} onMade={onMade} />}
      secretOf={({ token }: Made) => token}
      header="Authorization: Bearer TOKEN"
      loss={t("Requests that use this token fail immediately. {cantUndo}", { cantUndo: cantUndo() })}
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
      title={t("New access token")}
      verb={t("Create token")}
      call={create}
      onClose={onClose}
      onSend={() =>
        create.mutate({ body: { name, expiresInDays: days, ...(isAll ? {} : { scopes: [...scopes] }) } })
      }
    >
      <TextField
        label={t("Name")}
        isRequired
        value={name}
        onChange={setName}
        fault={messageFor("name")}
        about={t("What this token is used for")}
        maxLength={255}
      />
      <Labelled label={t("Expires in")} fault={messageFor("expiresInDays")}>
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
        <legend className="label">{t("Scopes")}</legend>
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
