import {
  Bot,
  CalendarClock,
  ChartColumn,
  ClipboardList,
  DatabaseZap,
  FileSearch,
  FolderSync,
  Globe,
  type LucideIcon,
  MessageSquare,
  Play,
  Radio,
  ScrollText,
  Search,
  Split,
  SquareArrowOutUpRight,
  Table2,
  UserCheck,
  Webhook,
  Zap,
} from "lucide-react";
import type { ActionKindInfo, Automation } from "../../calls.ts";

interface KindStyle {
  readonly icon: LucideIcon;
  /** Classes of the tile behind the icon. */
  readonly tint: string;
}

const DATA = "bg-good-soft text-good";
const QUERY = "bg-wait-soft text-wait";
const WEB = "bg-busy-soft text-busy";
const PEOPLE = "bg-warn-soft text-warn";
const FLOW = "bg-idle-soft text-idle";
const AGENT = "bg-bad-soft text-bad";

const KINDS: Readonly<Record<ActionKindInfo["kind"], KindStyle>> = {
  dlt_extract: { icon: DatabaseZap, tint: DATA },
  file_sync: { icon: FolderSync, tint: DATA },
  duckdb_transform: { icon: Table2, tint: QUERY },
  generate_query: { icon: Table2, tint: QUERY },
  explain_schema: { icon: FileSearch, tint: QUERY },
  create_flashboard: { icon: ChartColumn, tint: QUERY },
  run_script: { icon: ScrollText, tint: FLOW },
  http_request: { icon: Globe, tint: WEB },
  web_search: { icon: Search, tint: WEB },
  fetch_page: { icon: FileSearch, tint: WEB },
  send_message: { icon: MessageSquare, tint: PEOPLE },
  approval_gate: { icon: UserCheck, tint: PEOPLE },
  conditional_branch: { icon: Split, tint: FLOW },
  call_automation: { icon: SquareArrowOutUpRight, tint: FLOW },
  call_agent: { icon: Bot, tint: AGENT },
  agent_search: { icon: Search, tint: AGENT },
  agent_fetch_page: { icon: FileSearch, tint: AGENT },
};
const OTHER: KindStyle = { icon: Zap, tint: FLOW };

export const kindStyle = (kind: string | undefined): KindStyle =>
  KINDS[kind as ActionKindInfo["kind"]] ?? OTHER;

const TRIGGERS: Readonly<Record<Automation["triggerType"], LucideIcon>> = {
  manual: Play,
  webhook: Webhook,
  form: ClipboardList,
  schedule: CalendarClock,
  event: Radio,
};
export const triggerIcon = (type: Automation["triggerType"]): LucideIcon => TRIGGERS[type] ?? Zap;

/** Icon of a kind, with its background. */
export function KindTile({ kind }: { kind: string | undefined }) {
  const { icon: Icon, tint } = kindStyle(kind);
  return (
    <span aria-hidden className={`grid size-7 shrink-0 place-items-center rounded-md ${tint}`}>
      <Icon size={15} />
    </span>
  );
}

/** Icon of a trigger, shown before its name. */
export function TriggerIcon({ type }: { type: Automation["triggerType"] }) {
  const Icon = triggerIcon(type);
  return <Icon size={14} aria-hidden className="mr-1.5 inline-block align-[-2px]" />;
}
