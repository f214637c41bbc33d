import { Link } from "wouter";

/** To a new extract of one table or file. */
export function LoadLink({ connectionId, spec }: { connectionId: string; spec: string }) {
  const search = new URLSearchParams({ kind: "dlt_extract", connection: connectionId, spec });
  return (
    <Link
      href={`/actions/new?${search}`}
      aria-label={`Load ${spec}`}
      className="shrink-0 text-xs text-accent hover:underline"
    >
      Load
    </Link>
  );
}
