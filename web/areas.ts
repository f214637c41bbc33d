import {
  Cable,
  Database,
  House,
  Inbox,
  ListChecks,
  type LucideIcon,
  ScrollText,
  SquareTerminal,
  Workflow,
  Zap,
} from "lucide-react";

export interface Area {
  href: string;
  name: string;
  icon: LucideIcon;
  /** Pressed after `g`, leads here. */
  key: string;
  group: "" | "Build" | "Data" | "Watch";
}

/** What the navigation leads to. */
export const AREAS: readonly Area[] = [
  { href: "/", name: "Home", icon: House, key: "h", group: "" },
  { href: "/runs", name: "Runs", icon: ListChecks, key: "r", group: "" },
  { href: "/approvals", name: "Approvals", icon: Inbox, key: "p", group: "" },
  { href: "/automations", name: "Automations", icon: Workflow, key: "u", group: "Build" },
  { href: "/actions", name: "Actions", icon: Zap, key: "a", group: "Build" },
  { href: "/connections", name: "Connections", icon: Cable, key: "c", group: "Build" },
  { href: "/datasets", name: "Datasets", icon: Database, key: "d", group: "Data" },
  { href: "/sql", name: "SQL", icon: SquareTerminal, key: "s", group: "Data" },
  { href: "/events", name: "Events", icon: ScrollText, key: "e", group: "Watch" },
];
