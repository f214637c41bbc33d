import { Check, X } from "lucide-react";
import { ApiError } from "../../api.ts";
import type { Reply, Role } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { switchTo } from "../../linked.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Failed, Loading } from "../base/page.tsx";
import { personName } from "../base/person.ts";
import { roleName } from "../base/role-name.ts";
import { Tag } from "../base/status.tsx";
import { When } from "../base/time.tsx";
import { Named } from "../table/table.tsx";

type Own = Reply<"GET /api/v1/users/me/invitations">["items"][number];

/** Pending invitations of the user, to accept or decline. */
export function OwnInvitations() {
  const list = useApi("GET /api/v1/users/me/invitations", {});
  if (list.error instanceof ApiError && list.error.status !== 0)
    return <p className="card p-4 text-sm text-soft">{list.error.message}</p>;
  if (list.error) return <Failed error={list.error} again={() => void list.refetch()} />;
  if (!list.data) return <Loading rows={2} />;
  return (
    <>
      <p className="mb-4 max-w-prose text-sm text-soft">
        {t("Organizations that invited you. You become a member when you accept.")}
      </p>
      <ul className="card" aria-label={t("Your invitations")}>
        {list.data.items.length === 0 && (
          <li className="p-4 text-sm text-soft">{t("No pending invitations")}</li>
        )}
        {list.data.items.map((invitation) => (
          <Invitation key={invitation.id} of={invitation} />
        ))}
      </ul>
    </>
  );
}

function Invitation({ of }: { of: Own }) {
  const { id, organization, roleSlug, invitedBy, expiresAt } = of;
  const input = { path: { invitation_id: id } };
  const accept = useChange("POST /api/v1/users/me/invitations/{invitation_id}/accept", {
    touches: ["/invitations", "/memberships"],
    onDone: () => switchTo(organization.id),
  });
  const decline = useChange("POST /api/v1/users/me/invitations/{invitation_id}/decline", {
    touches: ["/invitations"],
    done: t("Invitation to {name} declined", { name: organization.name }),
  });
  return (
    <li className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-2 text-sm first:border-t-0">
      <span className="min-w-0 grow">
        <Named
          name={organization.name}
          below={invitedBy ? t("Invited by {personName}", { personName: personName(invitedBy) }) : null}
        />
      </span>
      <Tag>{roleName(roleSlug as Role)}</Tag>
      <span className="text-xs text-soft">
        {t("Expires")} <When at={expiresAt} />
      </span>
      <Button icon={X} busy={decline.isPending} onClick={() => decline.mutate(input)}>
        {t("Decline")}
      </Button>
      <Button kind="main" icon={Check} busy={accept.isPending} onClick={() => accept.mutate(input)}>
        {t("Join {name}", { name: organization.name })}
      </Button>
    </li>
  );
}
