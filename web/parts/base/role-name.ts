import type { Role } from "../../calls.ts";
import { once, t } from "../../texts/text.ts";

const names = once(
  (): Readonly<Record<Role, string>> => ({
    viewer: t("Viewer"),
    member: t("Member"),
    admin: t("Admin"),
    owner: t("Owner"),
  }),
);

export const roleName = (role: Role): string => names()[role];
