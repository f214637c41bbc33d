import { Lock } from "lucide-react";
import type { Role } from "../../calls.ts";
import { ROLES, useMe } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Labelled } from "./labelled.tsx";
import { Empty, Loading } from "./page.tsx";
import { roleName } from "./role-name.ts";

const ABOUT: Readonly<Record<Role, string>> = {
  viewer: t("Can view everything, but change nothing."),
  member: t("Viewer permissions, plus creating, editing and running things."),
  admin: t("Member permissions, plus members, API keys, webhooks and organization settings."),
  owner: t("Admin permissions, plus managing owners."),
};

/** Roles with name and permissions, in ascending order. */
export const NAMED_ROLES = ROLES.map((id) => [id, roleName(id), ABOUT[id]] as const);

/** Roles that the user can assign: none above their own. */
export function useGivable() {
  const { role } = useMe();
  return NAMED_ROLES.slice(0, ROLES.indexOf(role) + 1);
}

interface Props {
  value: Role;
  onChange: (role: Role) => void;
  fault?: string | undefined;
}

export function RoleField({ value, onChange, fault }: Props) {
  const roles = useGivable();
  return (
    <Labelled label={t("Role")} about={roles.find(([id]) => id === value)?.[2] ?? null} fault={fault}>
      {(wiring) => (
        <select
          {...wiring}
          className="field"
          value={value}
          onChange={(event) => onChange(event.target.value as Role)}
        >
          {roles.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

/** Says who to ask. */
export const askForRole = (role: Role): string =>
  t("Your role is {role}. Ask an admin to change it.", { role: roleName(role) });

/** Shown instead of content for admins. */
export function AdminsOnly({ title }: { title: string }) {
  const { current, role } = useMe();
  if (!current) return <Loading />;
  return (
    <Empty icon={Lock} title={title}>
      {askForRole(role)}
    </Empty>
  );
}
