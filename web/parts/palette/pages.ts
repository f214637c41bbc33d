import { FileCode, KeyRound, type LucideIcon, MailPlus, Plus, Webhook } from "lucide-react";
import { AREAS } from "../../areas.ts";

export interface Hit {
  href: string;
  name: string;
  about: string;
  icon: LucideIcon;
}

/** Pages, and forms for what one wants to make; some are for admins or operators alone. */
export const PAGES: readonly (Hit & { isAdmins?: boolean; isOperators?: boolean })[] = [
  ...AREAS.map(({ group, also, key, ...area }) => ({ ...area, about: "Go to" })),
  { href: "/templates", name: "Templates", about: "Go to", icon: FileCode },
  { href: "/deliveries", name: "Incoming webhooks", about: "Go to", icon: Webhook },
  { href: "/dead-letters", name: "Dead letters", about: "Go to", icon: Webhook },
  { href: "/webhooks/new", name: "New webhook", about: "Create", icon: Plus },
  { href: "/templates/new", name: "New template", about: "Create", icon: Plus },
  { href: "/organization?new=yes", name: "New organization", about: "Create", icon: Plus },
  { href: "/connections/new", name: "New connection", about: "Create", icon: Plus },
  { href: "/actions/new", name: "New action", about: "Create", icon: Plus },
  { href: "/automations/new", name: "New automation", about: "Create", icon: Plus },
  { href: "/agents/new", name: "New agent", about: "Create", icon: Plus },
  { href: "/catalog/new", name: "New API", about: "Create", icon: Plus },
  { href: "/access?new=yes", name: "New access token", about: "Create", icon: KeyRound },
  { href: "/access?tab=keys&new=yes", name: "New API key", about: "Create", icon: KeyRound, isAdmins: true },
  { href: "/team?new=yes", name: "Invite member", about: "Team", icon: MailPlus, isAdmins: true },
];
