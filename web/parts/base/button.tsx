import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";

type Kind = "main" | "plain" | "quiet" | "bad";

const SHAPE =
  "inline-flex h-8 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap disabled:opacity-50 select-none";
const KINDS: Readonly<Record<Kind, string>> = {
  main: "bg-accent text-on-accent hover:bg-accent-strong",
  plain: "border border-strong-line bg-raised text-ink hover:bg-sunken",
  quiet: "text-soft hover:bg-sunken hover:text-ink",
  bad: "border border-bad/50 bg-raised text-bad hover:bg-bad-soft",
};

interface ButtonStyle {
  kind?: Kind;
  icon?: LucideIcon;
  children?: ReactNode;
}

interface Props extends ButtonStyle, Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  busy?: boolean;
}

export function Button({
  kind = "plain",
  icon: Icon,
  busy = false,
  children,
  className = "",
  ...rest
}: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled === true || busy}
      aria-busy={busy || undefined}
      className={`${SHAPE} ${KINDS[kind]} ${className}`}
    >
      {busy ? (
        <LoaderCircle size={15} className="spin" aria-hidden />
      ) : (
        Icon && <Icon size={15} aria-hidden className="shrink-0" />
      )}
      {children}
    </button>
  );
}

export function LinkButton({ kind = "plain", icon: Icon, href, children }: ButtonStyle & { href: string }) {
  return (
    <Link href={href} className={`${SHAPE} ${KINDS[kind]}`}>
      {Icon && <Icon size={15} aria-hidden className="shrink-0" />}
      {children}
    </Link>
  );
}

/** A button with only an icon. The label is for screen readers, and shown on hover. */
export function IconButton({
  icon: Icon,
  label,
  className = "",
  ...rest
}: { icon: LucideIcon; label: string } & Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children">) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-7 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink disabled:opacity-40 ${className}`}
    >
      <Icon size={15} aria-hidden />
    </button>
  );
}
