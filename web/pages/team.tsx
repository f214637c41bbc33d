import { UserMinus } from "lucide-react";
import { useState } from "react";
import { base } from "../base.ts";
import type { Role, TeamMember } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { IconButton } from "../parts/base/button.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { PageHead, Section, Shown } from "../parts/base/page.tsx";
import { personName } from "../parts/base/person.ts";
import { NAMED_ROLES, useGivable } from "../parts/base/role.tsx";
import { roleName } from "../parts/base/role-name.ts";
import { Tag } from "../parts/base/status.tsx";
import { counted, When } from "../parts/base/time.tsx";
import { Invitations, InviteButton } from "../parts/organization/invitations.tsx";
import { type Column, Named, Table } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

export default function Team() {
  const may = useMay("admin");
  const team = useApi("GET /api/v1/organizations/team", {});
  const [leaving, setLeaving] = useState<TeamMember | null>(null);
  const columns: readonly Column<TeamMember>[] = [
    {
      name: t("Name"),
      isWide: true,
      cell: (member) => (
        <span className="flex min-w-0 items-center gap-2">
          <Named name={personName(member)} below={member.email} />
          {member.isCurrentUser && <Tag>{t("You")}</Tag>}
        </span>
      ),
    },
    { name: t("Role"), cell: (member) => <RoleChoice member={member} /> },
    { name: t("Joined"), isRight: true, isMinor: true, cell: ({ joinedAt }) => <When at={joinedAt} /> },
    ...(may
      ? [
          {
            name: t("Actions"),
            isRight: true,
            isUntitled: true,
            cell: (member: TeamMember) => (
              <IconButton
                icon={UserMinus}
                label={t("Remove {personName}", { personName: personName(member) })}
                onClick={() => setLeaving(member)}
              />
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <PageHead title={t("Team")} about={t("Members and their roles.")}>
        {may && <InviteButton />}
      </PageHead>
      <Shown of={team}>
        {({ members }) => (
          <Section title={t("Members")} flush aside={counted(members.length)}>
            <Table
              label={t("Members")}
              columns={columns}
              rows={members}
              keyOf={({ membershipId }) => membershipId}
            />
          </Section>
        )}
      </Shown>
      {may && <Invitations />}
      <Section title={t("Roles")}>
        <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-5 gap-y-1.5 text-sm">
          {NAMED_ROLES.map(([id, name, about]) => (
            <div key={id} className="contents">
              <dt className="font-medium">{name}</dt>
              <dd className="text-soft">{about}</dd>
            </div>
          ))}
        </dl>
      </Section>
      {leaving && <Remove member={leaving} onClose={() => setLeaving(null)} />}
    </>
  );
}

/** A member's role. Nobody can assign a higher role than their own, and only owners can change owners. */
function RoleChoice({ member }: { member: TeamMember }) {
  const may = useMay("admin");
  const givable = useGivable();
  const [newRole, setNewRole] = useState<Role | null>(null);
  const change = useChange("PATCH /api/v1/organizations/team/members/{membership_id}/role", {
    touches: ["/organizations", "/memberships"],
    done: ({ roleName }) => `${personName(member)}: ${roleName}`,
  });
  const send = (roleSlug: Role) =>
    change.mutate({ path: { membership_id: member.membershipId }, body: { roleSlug } });
  if (!may || !givable.some(([id]) => id === member.roleSlug)) return <Tag>{member.roleName}</Tag>;
  return (
    <>
      <select
        aria-label={t("Role of {personName}", { personName: personName(member) })}
        className="field w-auto"
        value={member.roleSlug}
        disabled={change.isPending}
        onChange={(event) => {
          const role = event.target.value as Role;
          if (member.isCurrentUser) setNewRole(role);
          else send(role);
        }}
      >
        {givable.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      {newRole && (
        <Confirm
          title={t("Change your own role?")}
          verb={t("Change role")}
          onClose={() => setNewRole(null)}
          onConfirm={() => {
            send(newRole);
            setNewRole(null);
          }}
        >
          <p>
            {t("As {role}, you won't be able to restore your current role yourself.", {
              role: roleName(newRole),
            })}
          </p>
        </Confirm>
      )}
    </>
  );
}

function Remove({ member, onClose }: { member: TeamMember; onClose: () => void }) {
  const remove = useChange("DELETE /api/v1/organizations/team/members/{membership_id}", {
    touches: ["/organizations"],
    done: t("{personName} removed", { personName: personName(member) }),
    onDone: () => (member.isCurrentUser ? location.assign(`${base}/`) : onClose()),
  });
  return (
    <Confirm
      title={
        member.isCurrentUser
          ? t("Leave the organization?")
          : t("Remove {personName}?", { personName: personName(member) })
      }
      verb={member.isCurrentUser ? t("Leave") : t("Remove")}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { membership_id: member.membershipId } }, { onError: onClose })}
    >
      <p>
        {member.isCurrentUser
          ? t("You lose access to this organization immediately, and your access tokens for it stop working.")
          : t(
              "They lose access to this organization immediately, and their access tokens for it stop working.",
            )}
      </p>
      <p>
        {member.isCurrentUser
          ? t("Everything you created is kept. To rejoin, you need a new invitation.")
          : t("Everything they created is kept. To rejoin, they need a new invitation.")}
      </p>
    </Confirm>
  );
}
