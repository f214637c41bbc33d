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

export interface Area {
  href: string;
  name: string;
  icon: LucideIcon;
  /** Pressed after `g`, leads here. */
  key: string;
  group: "" | "Build" | "Data" | "Monitor" | "Organization" | "Operator";
  /** Shown to operators of the installation alone. */
  isOperators?: boolean;
  /** Addresses of other pages that belong to it. */
  also?: readonly string[];
}

/** What the navigation leads to. */
export const AREAS: readonly Area[] = [
  { href: "/", name: "Home", icon: House, key: "h", group: "" },
  { href: "/chat", name: "Chat", icon: MessagesSquare, key: "t", group: "" },
  { href: "/runs", name: "Runs", icon: ListChecks, key: "r", group: "" },
  { href: "/approvals", name: "Approvals", icon: Inbox, key: "p", group: "" },
  {
    href: "/automations",
    name: "Automations",
    icon: Workflow,
    key: "u",
    group: "Build",
    also: ["/automation-runs"],
  },
  { href: "/actions", name: "Actions", icon: Zap, key: "a", group: "Build" },
  { href: "/agents", name: "Agents", icon: Bot, key: "n", group: "Build" },
  { href: "/connections", name: "Connections", icon: Cable, key: "c", group: "Build" },
  { href: "/catalog", name: "API catalog", icon: Boxes, key: "i", group: "Build" },
  { href: "/bundles", name: "Bundles", icon: Package, key: "b", group: "Build", also: ["/templates"] },
  { href: "/datasets", name: "Datasets", icon: Database, key: "d", group: "Data" },
  { href: "/sql", name: "SQL", icon: SquareTerminal, key: "s", group: "Data" },
  { href: "/dashboards", name: "Dashboards", icon: LayoutDashboard, key: "v", group: "Data" },
  { href: "/artifacts", name: "Artifacts", icon: FileText, key: "f", group: "Data" },
  { href: "/events", name: "Events", icon: ScrollText, key: "e", group: "Monitor" },
  {
    href: "/webhooks",
    name: "Webhooks",
    icon: Webhook,
    key: "w",
    group: "Monitor",
    also: ["/deliveries", "/dead-letters"],
  },
  { href: "/team", name: "Team", icon: Users, key: "m", group: "Organization" },
  { href: "/access", name: "Access", icon: KeyRound, key: "k", group: "Organization" },
  { href: "/organization", name: "Settings", icon: Building2, key: "o", group: "Organization" },
  {
    href: "/installation",
    name: "Installation",
    icon: Server,
    key: "l",
    group: "Operator",
    isOperators: true,
  },
];

/** The areas that a person with these rights is shown. */
export const areasFor = (rights: { isOperator: boolean } | null) =>
  AREAS.filter(({ isOperators }) => !isOperators || rights?.isOperator === true);
