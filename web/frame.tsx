import {
  BookOpen,
  Building2,
  Check,
  ChevronsUpDown,
  Keyboard,
  KeyRound,
  LogOut,
  Menu as MenuIcon,
  Moon,
  Plus,
  Search,
  Sun,
  SunMoon,
  WifiOff,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { keepOrganization } from "./api.ts";
import { type Area, areasFor } from "./areas.ts";
import { base } from "./base.ts";
import { useApi, useInstallation, useMe } from "./data.ts";
import { useKeys } from "./keys.ts";
import { noteOrganization, switchTo } from "./linked.ts";
import { useLink } from "./live.ts";
import { IconButton } from "./parts/base/button.tsx";
import { keyNames } from "./parts/base/key-names.ts";
import { Later, part } from "./parts/base/later.tsx";
import { Menu } from "./parts/base/menu.tsx";
import { roleName } from "./parts/base/role-name.ts";
import { counted } from "./parts/base/time.tsx";
import { Palette } from "./parts/palette/palette.tsx";
import { signOut } from "./sign-out.ts";
import { once, t } from "./texts/text.ts";
import { chooseTheme, type Theme, useTheme } from "./theme.ts";

const keysHelp = part(() => import("./parts/palette/keys-help.tsx"));

const groups = once((): readonly (readonly [group: Area["group"], name: string])[] => [
  ["", ""],
  ["build", t("Build|noun")],
  ["data", t("Data")],
  ["monitor", t("Monitor|noun")],
  ["organization", t("Organization")],
  ["operator", t("Operator")],
]);

/** Parts of the navigation that are hidden when only its icons show. */
const NARROW = "md:group-data-whole/frame:sr-only";

/** Pages with full width, where the navigation shows only its icons. */
const WHOLE = /^\/automations\/[^/]+\/edit$/;

/** Frame of every page: navigation, organization, account, search. */
export function Frame({ children }: { children: ReactNode }) {
  const [at] = useLocation();
  const [isNavOpen, setNavOpen] = useState(false);
  const [opened, setOpened] = useState<"palette" | "keys" | null>(null);
  const areas = areasFor(useInstallation());
  useKeys({ onPalette: () => setOpened("palette"), onHelp: () => setOpened("keys") });
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigating to another page closes the menu on phones
  useEffect(() => setNavOpen(false), [at]);

  const isWhole = WHOLE.test(at);
  return (
    <div
      data-whole={isWhole ? "" : undefined}
      className={`group/frame ${isWhole ? "flex h-dvh flex-col md:pl-14" : "min-h-screen md:pl-56"} print:pl-0`}
    >
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {t("Skip to main content")}
      </a>
      <header className="sticky top-0 z-30 flex h-12 items-center gap-2 border-b border-line bg-raised px-3 md:hidden print:hidden">
        <IconButton
          icon={MenuIcon}
          label={isNavOpen ? t("Close navigation") : t("Open navigation")}
          aria-expanded={isNavOpen}
          onClick={() => setNavOpen(!isNavOpen)}
        />
        <Brand />
        <span className="grow" />
        <LiveMark />
        <IconButton icon={Search} label={t("Search")} onClick={() => setOpened("palette")} />
      </header>
      <aside
        className={`fixed inset-y-0 left-0 z-40 flex w-56 flex-col border-r border-line bg-raised max-md:shadow-2xl print:hidden ${isNavOpen ? "" : "max-md:hidden"} ${isWhole ? "md:w-14" : ""}`}
      >
        <div className="flex h-13 items-center justify-between px-4 md:group-data-whole/frame:px-4.5">
          <Brand />
          <span className="max-md:hidden md:group-data-whole/frame:absolute md:group-data-whole/frame:top-2 md:group-data-whole/frame:right-2">
            <LiveMark />
          </span>
        </div>
        <div className="space-y-1.5 px-2 pb-2">
          <Switcher />
          <button
            type="button"
            onClick={() => setOpened("palette")}
            className="flex h-8 w-full items-center gap-2 rounded-md border border-line bg-ground px-2 text-sm text-soft hover:border-strong-line"
          >
            <Search size={14} aria-hidden />
            <span className={`grow text-left ${NARROW}`}>{t("Search")}</span>
            <kbd className={`font-sans text-xs text-faint ${NARROW}`}>{keyNames("Ctrl+K")}</kbd>
          </button>
        </div>
        <nav aria-label={t("Main navigation")} className="grow overflow-y-auto px-2 pb-3">
          {groups()
            .filter(([group]) => areas.some((area) => area.group === group))
            .map(([group, name]) => (
              <div key={group} className="mb-1">
                {name && (
                  <p
                    className={`px-2 pt-2 pb-0.5 text-xs font-medium text-faint md:group-data-whole/frame:hidden`}
                  >
                    {name}
                  </p>
                )}
                <ul>
                  {areas
                    .filter((area) => area.group === group)
                    .map((area) => (
                      <NavItem key={area.href} area={area} at={at} />
                    ))}
                </ul>
              </div>
            ))}
        </nav>
        <div className="border-t border-line p-2">
          <Person onKeys={() => setOpened("keys")} />
        </div>
      </aside>
      {isNavOpen && (
        <button
          type="button"
          aria-label={t("Close navigation")}
          className="fixed inset-0 z-30 bg-black/40 md:hidden"
          onClick={() => setNavOpen(false)}
        />
      )}
      <main
        id="main"
        tabIndex={-1}
        className={`outline-none ${isWhole ? "min-h-0 grow" : "mx-auto max-w-6xl px-4 pt-6 pb-16 sm:px-6"}`}
      >
        {children}
      </main>
      {opened === "palette" && <Palette onClose={() => setOpened(null)} />}
      {opened === "keys" && <Later of={keysHelp} props={{ onClose: () => setOpened(null) }} waiting={null} />}
    </div>
  );
}

function Brand() {
  return (
    <Link href="/" className="flex items-center gap-2 rounded font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="var(--accent)" />
        <path
          d="M6 11c3.300 0 3.300 3 6.600 3s3.400-3 6.700-3 3.300 3 6.700 3M6 18c3.300 0 3.300 3 6.600 3s3.400-3 6.700-3 3.300 3 6.700 3"
          fill="none"
          stroke="var(--on-accent)"
          strokeWidth="2.600"
          strokeLinecap="round"
        />
      </svg>
      <span className={NARROW}>Weir</span>
    </Link>
  );
}

function NavItem({ area: { href, name, icon: Icon, also = [] }, at }: { area: Area; at: string }) {
  const isHere = [href, ...also].some((path) => at === path || (path !== "/" && at.startsWith(`${path}/`)));
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isHere) link.current?.scrollIntoView({ block: "nearest" }); // scrolls the list if the window is low
  }, [isHere]);
  return (
    <li>
      <Link
        ref={link}
        href={href}
        aria-current={isHere ? "page" : undefined}
        title={name}
        className={`flex h-7 items-center gap-2.5 rounded-md px-2 text-sm max-md:h-9 ${isHere ? "bg-accent-soft font-medium text-accent-strong" : "text-soft hover:bg-sunken hover:text-ink"}`}
      >
        <Icon size={16} aria-hidden className="shrink-0" />
        <span className={NARROW}>{name}</span>
        {href === "/approvals" && <Waiting />}
      </Link>
    </li>
  );
}

/** Number of pending approvals. */
function Waiting() {
  const total = useApi("GET /api/v1/approvals", { query: { status: "pending" } }).data?.total ?? 0;
  return total > 0 ? (
    <span className="ml-auto rounded-full bg-wait-soft md:group-data-whole/frame:sr-only px-1.5 text-xs font-medium text-wait tabular-nums">
      {counted(total)}
      <span className="sr-only">{t("pending")}</span>
    </span>
  ) : null;
}

/** Connection status of the event stream. */
function LiveMark() {
  const link = useLink();
  if (link === "connecting") return null;
  return link === "open" ? (
    <span role="status" title={t("Live. This page updates automatically.")} className="flex items-center">
      <span className="size-2 rounded-full bg-good" />
      <span className="sr-only">{t("Live")}</span>
    </span>
  ) : (
    <span
      role="status"
      title={t("Connection lost. Reconnecting… Data may be out of date.")}
      className="flex items-center gap-1 rounded-full bg-warn-soft px-2 py-0.5 text-xs text-warn"
    >
      <WifiOff size={12} aria-hidden />
      {t("Reconnecting…")}
    </span>
  );
}

function Switcher() {
  const { memberships, current } = useMe();
  const mayMake = useInstallation()?.createsOrganizations === true;
  const [, go] = useLocation();
  const shown = current?.organization.id;
  useEffect(() => {
    if (!shown) return;
    keepOrganization(shown);
    noteOrganization();
  }, [shown]);
  return (
    <Menu
      label={t("Organizations")}
      hasText
      buttonClass="flex h-9 w-full items-center gap-2 rounded-md px-2 text-sm hover:bg-sunken"
      button={
        <>
          <Building2 size={15} aria-hidden className="shrink-0 text-soft" />
          <span className={`grow truncate text-left font-medium ${NARROW}`} dir="auto">
            {current?.organization.name ?? t("No organization")}
          </span>
          <ChevronsUpDown
            size={14}
            aria-hidden
            className="shrink-0 text-faint md:group-data-whole/frame:hidden"
          />
        </>
      }
      items={[
        ...memberships.map(({ organization, role, isCurrent }) => ({
          name: organization.name,
          aside: isCurrent ? (
            <Check size={14} aria-label={t("Current")} />
          ) : (
            <span className="text-xs text-faint">{roleName(role)}</span>
          ),
          onPick: () => switchTo(organization.id),
        })),
        ...(mayMake
          ? ([
              "line",
              { name: t("New organization"), icon: Plus, onPick: () => go("/organization?new=yes") },
            ] as const)
          : []),
      ]}
    />
  );
}

const themes = once((): readonly (readonly [theme: Theme, name: string, icon: typeof Sun])[] => [
  ["light", t("Light"), Sun],
  ["dark", t("Dark"), Moon],
  ["system", t("System"), SunMoon],
]);

function Person({ onKeys }: { onKeys: () => void }) {
  const { user, role } = useMe();
  const theme = useTheme();
  const name = [user?.firstName, user?.lastName].filter(Boolean).join(" ") || user?.email || "";
  return (
    <Menu
      label={t("Account menu")}
      hasText
      opens="up"
      buttonClass="flex w-full items-center gap-2 rounded-md px-1.5 py-1.5 text-sm hover:bg-sunken"
      button={
        <>
          <span
            aria-hidden
            data-letter={name.slice(0, 1)}
            className="flex size-7 before:content-[attr(data-letter)] shrink-0 items-center justify-center rounded-full bg-accent-soft text-xs font-semibold text-accent-strong uppercase"
          ></span>
          <span className={`min-w-0 grow text-left leading-tight ${NARROW}`}>
            <span className="block truncate font-medium" dir="auto">
              {name}
            </span>
            <span className="block truncate text-xs text-soft">{roleName(role)}</span>
          </span>
          <ChevronsUpDown
            size={14}
            aria-hidden
            className="shrink-0 text-faint md:group-data-whole/frame:hidden"
          />
        </>
      }
      items={[
        ...themes().map(([id, title, icon]) => ({
          name: title,
          icon,
          aside: theme === id ? <Check size={14} aria-label={t("Selected")} /> : undefined,
          onPick: () => chooseTheme(id),
        })),
        "line",
        { name: t("Keyboard shortcuts"), icon: Keyboard, onPick: onKeys },
        { name: t("Documentation"), icon: BookOpen, onPick: () => location.assign(`${base}/docs/index`) },
        { name: t("API reference"), icon: KeyRound, onPick: () => location.assign(`${base}/docs`) },
        "line",
        { name: t("Sign out"), icon: LogOut, onPick: () => void signOut() },
      ]}
    />
  );
}
