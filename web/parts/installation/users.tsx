import { Download, MailCheck, ShieldMinus, ShieldPlus, Trash2 } from "lucide-react";
import { useState } from "react";
import { fetchFile } from "../../api.ts";
import type { InstallationUser } from "../../calls.ts";
import { useChange, useMe } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { download } from "../base/download.ts";
import { TextField } from "../base/labelled.tsx";
import { personName } from "../base/person.ts";
import { Tag } from "../base/status.tsx";
import { cantUndo } from "../base/texts.ts";
import { When } from "../base/time.tsx";
import { notify } from "../base/toast.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";
import { Choice, FilterBar, SearchField } from "../table/filters.tsx";
import { NoMatches } from "../table/no-matches.tsx";
import { Older, useOlder } from "../table/older.tsx";
import { type Column, Named, Table, useFilters } from "../table/table.tsx";

/** A change of a user that needs confirmation. */
interface Change {
  user: InstallationUser;
  body: { isOperator: boolean } | { addressProven: true };
}

const OPERATORS = [
  ["true", t("Operators")],
  ["false", t("Others")],
] as const;

async function exportData({ id, email }: InstallationUser): Promise<void> {
  const file = await fetchFile(
    "GET /api/v1/installation/users/{user_id}/export",
    { path: { user_id: id } },
    new AbortController().signal,
  );
  download(`${email}.json`, file);
}

/** All users of the installation, with search and paging. */
export function InstallationUsers() {
  const filters = useFilters();
  const [change, setChange] = useState<Change | null>(null);
  const [erased, setErased] = useState<InstallationUser | null>(null);
  const [q, operators] = [filters.get("q"), filters.get("operators")];
  const list = useOlder("GET /api/v1/installation/users", {
    query: { ...(q ? { q } : {}), ...(operators ? { is_operator: operators === "true" } : {}) },
  });
  const columns: readonly Column<InstallationUser>[] = [
    {
      name: t("Name"),
      isWide: true,
      cell: (user) => <Named name={personName(user)} below={user.email} />,
    },
    {
      name: t("Role"),
      cell: ({ isOperator }) => (isOperator ? <Tag tone="good">{t("Operator")}</Tag> : null),
    },
    {
      name: t("Email"),
      isMinor: true,
      cell: ({ addressProven }) =>
        addressProven ? <Tag>{t("Verified")}</Tag> : <Tag tone="warn">{t("Not verified")}</Tag>,
    },
    { name: t("Last active"), isRight: true, isMinor: true, cell: (user) => <When at={user.lastActiveAt} /> },
    { name: t("Created"), isRight: true, isMinor: true, cell: (user) => <When at={user.createdAt} /> },
    {
      name: t("Actions"),
      isRight: true,
      isUntitled: true,
      cell: (user) => <Actions user={user} onChange={setChange} onErase={setErased} />,
    },
  ];
  return (
    <>
      <div className="card">
        <FilterBar onClear={filters.isAny && filters.clear}>
          <SearchField label={t("Name or email")} value={q} onChange={(value) => filters.set("q", value)} />
          <Choice
            label={t("Role")}
            value={operators}
            options={OPERATORS}
            onChange={(value) => filters.set("operators", value)}
          />
        </FilterBar>
        <Older of={list} rows={8}>
          {(items) =>
            items.length > 0 ? (
              <Table label={t("Users")} columns={columns} rows={items} keyOf={({ id }) => id} />
            ) : (
              <NoMatches title={t("No users match these filters")} onClear={filters.clear} />
            )
          }
        </Older>
      </div>
      {change && <ConfirmChange {...change} onClose={() => setChange(null)} />}
      {erased && <Erase user={erased} onClose={() => setErased(null)} />}
    </>
  );
}

interface ActionProps {
  user: InstallationUser;
  onChange: (change: Change) => void;
  onErase: (user: InstallationUser) => void;
}

function Actions({ user, onChange, onErase }: ActionProps) {
  const name = personName(user);
  const { isOperator, addressProven } = user;
  return (
    <span className="inline-flex justify-end gap-1 max-sm:w-15 max-sm:flex-wrap">
      {!addressProven && (
        <IconButton
          icon={MailCheck}
          label={t("Verify the email of {name}", { name })}
          onClick={() => onChange({ user, body: { addressProven: true } })}
        />
      )}
      <IconButton
        icon={Download}
        label={t("Export data of {name}", { name })}
        onClick={() => void exportData(user).catch((error: Error) => notify(error.message, "bad"))}
      />
      <IconButton
        icon={isOperator ? ShieldMinus : ShieldPlus}
        label={isOperator ? t("Remove {name} as operator", { name }) : t("Make {name} an operator", { name })}
        onClick={() => onChange({ user, body: { isOperator: !isOperator } })}
      />
      <IconButton icon={Trash2} label={t("Erase {name}", { name })} onClick={() => onErase(user)} />
    </span>
  );
}

const wordsOf = (name: string, body: Change["body"], isSelf: boolean) => {
  if ("addressProven" in body) {
    return {
      title: t("Verify the email of {name}?", { name }),
      verb: t("Verify email"),
      about: t(
        "Confirm only if you know that this address belongs to the user. A verified address can accept invitations.",
      ),
      done: t("Email of {name} verified", { name }),
    };
  }
  if (body.isOperator) {
    return {
      title: t("Make {name} an operator?", { name }),
      verb: t("Make operator"),
      about: t(
        "Operators set limits, restore organizations and make other operators. They can't see an organization's data.",
      ),
      done: t("{name} is now an operator", { name }),
    };
  }
  return {
    title: t("Remove {name} as operator?", { name }),
    verb: t("Remove operator"),
    about: isSelf
      ? t("You lose access to this page. Another operator can restore it.")
      : t("They lose access to this page. Their organizations aren't affected."),
    done: t("{name} is no longer an operator", { name }),
  };
};

function ConfirmChange({ user, body, onClose }: Change & { onClose: () => void }) {
  const me = useMe();
  const words = wordsOf(personName(user), body, me.user?.id === user.id);
  const change = useChange("PATCH /api/v1/installation/users/{user_id}", {
    touches: ["/installation"],
    done: words.done,
    onDone: onClose,
  });
  return (
    <Dialog
      title={words.title}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            kind="main"
            busy={change.isPending}
            onClick={() => change.mutate({ path: { user_id: user.id }, body }, { onError: onClose })}
          >
            {words.verb}
          </Button>
        </>
      }
    >
      <p className="text-soft">{words.about}</p>
    </Dialog>
  );
}

function Erase({ user, onClose }: { user: InstallationUser; onClose: () => void }) {
  const [confirm, setConfirm] = useState("");
  const erase = useChange("DELETE /api/v1/installation/users/{user_id}", {
    touches: ["/installation"],
    tellsErrors: false,
    done: t("{personName} erased", { personName: personName(user) }),
    onDone: onClose,
  });
  return (
    <FormDialog
      title={t("Erase {personName}?", { personName: personName(user) })}
      verb={t("Erase user")}
      isBad
      call={erase}
      onClose={onClose}
      onSend={() => erase.mutate({ path: { user_id: user.id }, body: { confirm } })}
    >
      <p className="text-soft">
        {t(
          "They are signed out everywhere, and their profile, tokens and chats are erased. Everything they created in organizations is kept, without their name. {cantUndo}",
          { cantUndo: cantUndo() },
        )}
      </p>
      <TextField
        label={t("User's email address")}
        isRequired
        value={confirm}
        onChange={setConfirm}
        fault={messagesBy(erase.error)("confirm")}
        about={t("Type {email} to confirm.", { email: user.email })}
      />
    </FormDialog>
  );
}
