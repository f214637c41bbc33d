import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { useMay, useMe } from "../../data.ts";
import { Empty, Loading } from "../base/page.tsx";

/** What only members may do; others are told so in its place. `does` ends "Members …". */
export function MembersOnly({ does, children }: { does: string; children: ReactNode }) {
  const may = useMay("member");
  const { current, role } = useMe();
  if (may) return children;
  if (!current) return <Loading />;
  return (
    <Empty icon={Lock} title={`Members ${does}`}>
      Your role here is {role}. An admin of the organization can give you another one.
    </Empty>
  );
}
