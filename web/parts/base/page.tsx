import type { UseQueryResult } from "@tanstack/react-query";
import { ChevronRight, type LucideIcon, RefreshCw, SearchX, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Link, useSearchParams } from "wouter";
import { ApiError } from "../../api.ts";
import { t } from "../../texts/text.ts";
import { Button, LinkButton } from "./button.tsx";

interface HeadProps {
  title: string;
  /** Parent page: path and name. */
  from?: readonly (readonly [href: string, name: string])[];
  /** Shown next to the title, such as a status. */
  beside?: ReactNode;
  /** A sentence below the title. */
  about?: ReactNode;
  /** Buttons. */
  children?: ReactNode;
}

export function PageHead({ title, from = [], beside, about, children }: HeadProps) {
  useEffect(() => {
    document.title = `${title} · Weir`;
  }, [title]);
  return (
    <header className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0 grow basis-80">
        {from.length > 0 && (
          <nav aria-label={t("Breadcrumb")} className="mb-0.5 flex items-center gap-1 text-xs text-soft">
            {from.map(([href, name]) => (
              <span key={href} className="flex min-w-0 items-center gap-1">
                <Link href={href} className="max-w-72 truncate hover:text-ink hover:underline" dir="auto">
                  {name}
                </Link>
                <ChevronRight size={12} aria-hidden className="shrink-0" />
              </span>
            ))}
          </nav>
        )}
        <div className="flex flex-wrap items-center gap-2.5">
          <h1 className="min-w-0 text-xl font-semibold tracking-tight [overflow-wrap:anywhere]" dir="auto">
            {title}
          </h1>
          {beside}
        </div>
        {about && (
          <div className="mt-1 max-w-2xl text-sm text-pretty text-soft [overflow-wrap:anywhere]">{about}</div>
        )}
      </div>
      {children && <div className="flex flex-wrap items-center gap-2 print:hidden">{children}</div>}
    </header>
  );
}

interface SectionProps {
  title: ReactNode;
  /** Shown right of the title. */
  aside?: ReactNode;
  /** Without padding, for tables. */
  flush?: boolean;
  children: ReactNode;
}

export function Section({ title, aside, flush = false, children }: SectionProps) {
  return (
    <section className="card mb-5">
      <div className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
        <h2 className="text-sm font-semibold">{title}</h2>
        {aside && <div className="flex items-center gap-2 text-xs text-soft">{aside}</div>}
      </div>
      <div className={`overflow-hidden rounded-b-[9px] ${flush ? "" : "p-4"}`}>{children}</div>
    </section>
  );
}

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  /** A button for the next step. */
  action?: ReactNode;
}

export function Empty({ icon: Icon, title, children, action }: EmptyProps) {
  return (
    <div className="flex flex-col items-center px-6 py-12 text-center">
      <div className="mb-3 flex size-11 items-center justify-center rounded-full bg-sunken text-soft">
        <Icon size={20} aria-hidden />
      </div>
      <p className="font-medium">{title}</p>
      {children && <div className="mt-1 max-w-md text-sm text-balance text-soft">{children}</div>}
      {action && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

const WIDTHS = ["92%", "71%", "84%", "58%", "88%", "66%", "79%", "62%"] as const;

/** Placeholder while rows are loading. */
export function Loading({ rows = 5 }: { rows?: number }) {
  return (
    <div className="space-y-3 p-4" role="status" aria-label={t("Loading")}>
      {WIDTHS.slice(0, rows).map((width) => (
        <div key={width} className="pulse h-4 rounded bg-sunken" style={{ width }} />
      ))}
    </div>
  );
}

const missingText = () =>
  t("It may have been deleted, or it belongs to another organization you're a member of.");

interface FailedProps {
  error: Error;
  again?: () => void;
  /** True if there is nothing else on the page. */
  isPage?: boolean;
}

export function Failed({ error, again, isPage = false }: FailedProps) {
  const missing = error instanceof ApiError && (error.status === 404 || error.status === 422);
  if (missing && isPage) {
    return (
      <>
        <PageHead title={t("Not found")} />
        <div className="card">
          <Empty
            icon={SearchX}
            title={t("There's nothing at this address")}
            action={<LinkButton href="/">{t("Go to Home")}</LinkButton>}
          >
            {missingText()}
          </Empty>
        </div>
      </>
    );
  }
  return (
    <Empty
      icon={missing ? SearchX : TriangleAlert}
      title={missing ? t("Not found") : t("Couldn't load this")}
      action={
        again && !missing ? (
          <Button icon={RefreshCw} onClick={again}>
            {t("Try again")}
          </Button>
        ) : undefined
      }
    >
      <p>{missing ? missingText() : error.message}</p>
      {error instanceof ApiError && error.correlationId && !missing && (
        <p className="mt-1 text-xs">
          {t("Request ID")} <code className="font-mono">{error.correlationId}</code>
        </p>
      )}
    </Empty>
  );
}

interface ShownProps<T> {
  of: UseQueryResult<T, Error>;
  rows?: number;
  /** True if there is nothing else on the page. */
  isPage?: boolean;
  children: (data: T) => ReactNode;
}

/** Result of a query, or its loading or error state. */
export function Shown<T>({ of, rows, isPage = false, children }: ShownProps<T>) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <Failed error={of.error} again={() => void of.refetch()} isPage={isPage} />;
  return <Loading rows={rows ?? 5} />;
}

/** Tabs, with the selected one in the URL as `?tab=`. */
export function useTab<T extends string>(
  tabs: readonly (readonly [id: T, name: string])[],
  /** Shown if the URL has no tab. */
  fallback = tabs[0]?.[0],
) {
  const [search] = useSearchParams();
  const tabId = search.get("tab");
  const current = tabs.find(([id]) => id === tabId)?.[0] ?? fallback;
  const nav = useRef<HTMLElement>(null);
  // On a phone, the selected tab may be out of view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when another tab is selected
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>("[aria-current]");
    if (nav.current && link) nav.current.scrollLeft = link.offsetLeft - nav.current.clientWidth / 3;
  }, [current]);
  const bar = (
    <nav
      ref={nav}
      aria-label={t("Page sections")}
      className="hints-more relative mb-5 flex gap-1 overflow-x-auto border-b border-line"
    >
      {tabs.map(([id, name], at) => (
        <Link
          key={id}
          href={`~${location.pathname}${at === 0 ? "" : `?tab=${id}`}`}
          aria-current={id === current ? "page" : undefined}
          className={`-mb-px border-b-2 px-3 py-2 text-sm whitespace-nowrap ${
            id === current
              ? "border-accent font-medium text-ink"
              : "border-transparent text-soft hover:text-ink"
          }`}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
  return { current, bar };
}

/** Details in two columns: names and values. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[max-content_minmax(0,1fr)] items-baseline gap-x-5 gap-y-2 text-sm">
      {of.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
