import {
  Bot,
  Boxes,
  Building2,
  Cable,
  Database,
  FileText,
  House,
  Inbox,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  Package,
  ScrollText,
  Server,
  SquareTerminal,
  Users,
  Webhook,
  Workflow,
  Zap,
} from "lucide-react";
import { once, t } from "./texts/text.ts";

export interface Area {
  href: string;
  name: string;
  icon: LucideIcon;
  /** Shortcut: `g`, then this key. */
  key: string;
  group: "" | "build" | "data" | "monitor" | "organization" | "operator";
  /** Shown only to operators of the installation. */
  isOperators?: boolean;
  /** Other paths that mark this item as current. */
  also?: readonly string[];
}

/** Entries of the navigation. */
export const areas = once((): readonly Area[] => [
  { href: "/", name: t("Home"), icon: House, key: "h", group: "" },
  { href: "/chat", name: t("Chat"), icon: MessagesSquare, key: "t", group: "" },
  { href: "/runs", name: t("Runs"), icon: ListChecks, key: "r", group: "" },
  { href: "/approvals", name: t("Approvals"), icon: Inbox, key: "p", group: "" },
  {
    href: "/automations",
    name: t("Automations"),
    icon: Workflow,
    key: "u",
    group: "build",
    also: ["/automation-runs"],
  },
  { href: "/actions", name: t("Actions"), icon: Zap, key: "a", group: "build" },
  { href: "/agents", name: t("Agents"), icon: Bot, key: "n", group: "build" },
  { href: "/connections", name: t("Connections"), icon: Cable, key: "c", group: "build" },
  { href: "/catalog", name: t("API catalog"), icon: Boxes, key: "i", group: "build" },
  { href: "/bundles", name: t("Bundles"), icon: Package, key: "b", group: "build", also: ["/templates"] },
  { href: "/datasets", name: t("Datasets"), icon: Database, key: "d", group: "data" },
  { href: "/sql", name: "SQL", icon: SquareTerminal, key: "s", group: "data" },
  { href: "/dashboards", name: t("Dashboards"), icon: LayoutDashboard, key: "v", group: "data" },
  { href: "/artifacts", name: t("Artifacts"), icon: FileText, key: "f", group: "data" },
  { href: "/events", name: t("Events"), icon: ScrollText, key: "e", group: "monitor" },
  {
    href: "/webhooks",
    name: t("Webhooks"),
    icon: Webhook,
    key: "w",
    group: "monitor",
    also: ["/deliveries", "/dead-letters"],
  },
  { href: "/team", name: t("Team"), icon: Users, key: "m", group: "organization" },
  { href: "/access", name: t("Access"), icon: KeyRound, key: "k", group: "organization" },
  { href: "/organization", name: t("Settings"), icon: Building2, key: "o", group: "organization" },
  {
    href: "/installation",
    name: t("Installation"),
    icon: Server,
    key: "l",
    group: "operator",
    isOperators: true,
  },
]);

/** Areas for a user with these permissions. */
export const areasFor = (rights: { isOperator: boolean } | null) =>
  areas().filter(({ isOperators }) => !isOperators || rights?.isOperator === true);
