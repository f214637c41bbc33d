import { Lock } from "lucide-react";
import type { Role } from "../../calls.ts";
import { ROLES, useMe } from "../../data.ts";
import { Labelled } from "./labelled.tsx";
import { Empty, Loading } from "./page.tsx";

const NAMES: Readonly<Record<Role, readonly [name: string, about: string]>> = {
  viewer: ["Viewer", "Sees everything, changes nothing."],
  member: ["Member", "Builds and runs."],
  admin: ["Admin", "Also people, keys, webhooks and the organization."],
  owner: ["Owner", "Also other owners."],
};

/** Each role with its name and what it may do, from the least to the most. */
export const NAMED_ROLES = ROLES.map((id) => [id, ...NAMES[id]] as const);

/** The roles that the person may give: none above their own. */
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
    <Labelled label="Role" about={roles.find(([id]) => id === value)?.[2] ?? null} fault={fault}>
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

/** In the place of what only admins are shown. */
export function AdminsOnly({ what }: { what: string }) {
  const { current, role } = useMe();
  if (!current) return <Loading />;
  return (
    <Empty icon={Lock} title={`Admins see ${what}`}>
      Your role here is {role}. An admin of the organization can give you another one.
    </Empty>
  );
}
