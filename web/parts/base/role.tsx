import { Lock } from "lucide-react";
import { useMe } from "../../data.ts";
import { Labelled } from "./labelled.tsx";
import { Empty, Loading } from "./page.tsx";

export const ROLES = [
  ["viewer", "Viewer", "Sees everything, changes nothing."],
  ["member", "Member", "Builds and runs."],
  ["admin", "Admin", "Also people, keys, webhooks and the organization."],
  ["owner", "Owner", "Also other owners."],
] as const;
export type Role = (typeof ROLES)[number][0];

/** The roles that the person may give: none above their own. */
export function useGivable() {
  const { role } = useMe();
  return ROLES.slice(0, ROLES.findIndex(([id]) => id === role) + 1);
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
