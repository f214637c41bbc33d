import { Link, useLocation } from "wouter";
import { t } from "../../texts/text.ts";

/** A page of an area: path and name. */
export type Sibling = readonly [href: string, name: string];

export const WEBHOOK_PAGES: readonly Sibling[] = [
  ["/webhooks", t("Outgoing")],
  ["/deliveries", t("Incoming")],
  ["/dead-letters", t("Dead letters")],
];

export const BUNDLE_PAGES: readonly Sibling[] = [
  ["/bundles", t("Bundles")],
  ["/templates", t("Templates")],
];

/** Navigation between the lists of an area. */
export function Siblings({ of, label }: { of: readonly Sibling[]; label: string }) {
  const [at] = useLocation();
  return (
    <nav aria-label={label} className="mb-5 flex gap-1 overflow-x-auto border-b border-line">
      {of.map(([href, name]) => (
        <Link
          key={href}
          href={href}
          aria-current={href === at ? "page" : undefined}
          className={`-mb-px border-b-2 px-3 py-2 text-sm whitespace-nowrap ${
            href === at ? "border-accent font-medium text-ink" : "border-transparent text-soft hover:text-ink"
          }`}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
