import { Trash2 } from "lucide-react";
import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { IconButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { personName } from "../base/person.ts";
import { Tag } from "../base/status.tsx";
import { cantUndo } from "../base/texts.ts";
import { When } from "../base/time.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

type Token = Reply<"GET /api/v1/organizations/tokens">["items"][number];

/** All tokens and keys of the organization, for admins. */
export function OrganizationTokens() {
  const [gone, setGone] = useState<Token | null>(null);
  const list = useOlder("GET /api/v1/organizations/tokens", {});
  const team = useApi("GET /api/v1/organizations/team", {});
  const nameOf = (userId: string | null) => {
    const person = team.data?.members.find((member) => member.userId === userId);
    return person ? personName(person) : null;
  };
  const columns: readonly Column<Token>[] = [
    {
      name: t("Name"),
      isWide: true,
      cell: ({ name, lastFour }) => <Named name={name} below={t("Ends in {lastFour}", { lastFour })} />,
    },
    { name: t("Kind"), cell: ({ kind }) => <Tag>{kind === "pat" ? t("Access token") : t("API key")}</Tag> },
    {
      name: t("User"),
      cell: ({ userId }) => <span className="md:whitespace-nowrap">{nameOf(userId) ?? "–"}</span>,
    },
    {
      name: t("Last used"),
      isRight: true,
      isMinor: true,
      cell: ({ lastUsedAt }) => <When at={lastUsedAt} />,
    },
    {
      name: t("Expires"),
      isRight: true,
      isMinor: true,
      cell: ({ expiresAt }) => (expiresAt === null ? "never" : <When at={expiresAt} />),
    },
    {
      name: t("Actions"),
      isRight: true,
      isUntitled: true,
      cell: (each) => (
        <IconButton
          icon={Trash2}
          label={t("Revoke {name}", { name: each.name })}
          onClick={() => setGone(each)}
        />
      ),
    },
  ];
  return (
    <>
      <p className="mb-4 max-w-prose text-sm text-soft">
        {t("All access tokens and API keys of this organization. Revoking one takes effect immediately.")}
      </p>
      <div className="card">
        <Older of={list}>
          {(items) => (
            <Table
              label={t("Access tokens and API keys")}
              columns={columns}
              rows={items}
              keyOf={({ id }) => id}
            />
          )}
        </Older>
      </div>
      {gone && <Revoke token={gone} onClose={() => setGone(null)} />}
    </>
  );
}

function Revoke({ token, onClose }: { token: Token; onClose: () => void }) {
  const revoke = useChange("DELETE /api/v1/organizations/tokens/{token_id}", {
    touches: ["/organizations/tokens", "/access-tokens", "/api-keys"],
    done: t("{name} revoked", { name: token.name }),
    onDone: onClose,
  });
  return (
    <Confirm
      title={t("Revoke {name}?", { name: token.name })}
      verb={t("Revoke")}
      isBusy={revoke.isPending}
      onClose={onClose}
      onConfirm={() => revoke.mutate({ path: { token_id: token.id } }, { onError: onClose })}
    >
      <p>{t("Requests that use it fail immediately. {cantUndo}", { cantUndo: cantUndo() })}</p>
    </Confirm>
  );
}
