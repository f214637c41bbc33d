import { FileCode, KeyRound, type LucideIcon, MailPlus, Plus, Webhook } from "lucide-react";
import { areas } from "../../areas.ts";
import { once, t } from "../../texts/text.ts";

export interface Hit {
  href: string;
  name: string;
  about: string;
  icon: LucideIcon;
}

/** Pages, and forms for new resources. Some are only for admins or operators. */
export const pages = once((): readonly (Hit & { isAdmins?: boolean; isOperators?: boolean })[] => [
  ...areas().map(({ group, also, key, ...area }) => ({ ...area, about: t("Go to") })),
  { href: "/templates", name: t("Templates"), about: t("Go to"), icon: FileCode },
  { href: "/deliveries", name: t("Incoming webhooks"), about: t("Go to"), icon: Webhook },
  { href: "/dead-letters", name: t("Dead letters"), about: t("Go to"), icon: Webhook },
  { href: "/webhooks/new", name: t("New webhook"), about: t("Create"), icon: Plus },
  { href: "/templates/new", name: t("New template"), about: t("Create"), icon: Plus },
  { href: "/organization?new=yes", name: t("New organization"), about: t("Create"), icon: Plus },
  { href: "/connections/new", name: t("New connection"), about: t("Create"), icon: Plus },
  { href: "/actions/new", name: t("New action"), about: t("Create"), icon: Plus },
  { href: "/automations/new", name: t("New automation"), about: t("Create"), icon: Plus },
  { href: "/agents/new", name: t("New agent"), about: t("Create"), icon: Plus },
  { href: "/catalog/new", name: t("New API"), about: t("Create"), icon: Plus },
  { href: "/access?new=yes", name: t("New access token"), about: t("Create"), icon: KeyRound },
  {
    href: "/access?tab=keys&new=yes",
    name: t("New API key"),
    about: t("Create"),
    icon: KeyRound,
    isAdmins: true,
  },
  { href: "/team?new=yes", name: t("Invite member"), about: t("Team"), icon: MailPlus, isAdmins: true },
]);
