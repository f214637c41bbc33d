import { Link } from "wouter";
import { t } from "../../texts/text.ts";

/** Link to a new extract of one table or file. With a key it is merged, so that it can be loaded repeatedly. */
export function LoadLink({
  connectionId,
  spec,
  isKeyed = false,
}: {
  connectionId: string;
  spec: string;
  isKeyed?: boolean;
}) {
  const search = new URLSearchParams({ kind: "dlt_extract", connection: connectionId, spec });
  if (isKeyed) search.set("write", "merge");
  return (
    <Link
      href={`/actions/new?${search}`}
      aria-label={t("Load {spec}", { spec })}
      className="shrink-0 text-xs text-accent hover:underline"
    >
      {t("Load|verb")}
    </Link>
  );
}
