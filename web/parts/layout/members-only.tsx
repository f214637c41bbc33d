import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { useMay, useMe } from "../../data.ts";
import { Empty, Loading } from "../base/page.tsx";
import { askForRole } from "../base/role.tsx";

/** Content for members only. Others see `title` instead, such as "You need the member role to create actions". */
export function MembersOnly({ title, children }: { title: string; children: ReactNode }) {
  const may = useMay("member");
  const { current, role } = useMe();
  if (may) return children;
  if (!current) return <Loading />;
  return (
    <Empty icon={Lock} title={title}>
      {askForRole(role)}
    </Empty>
  );
}
