import { Link } from "wouter";
import { t } from "../../texts/text.ts";

/** The spec of an extract that matches one file: in a pattern, a backslash escapes the next character. */
export const specOfFile = (path: string): string => path.replace(/^\/+/, "").replace(/[\\*?[{]/g, "\\$&");

/** The table or file of a spec, as people know it. */
export const nameOfSpec = (spec: string): string => spec.replace(/\\([\\*?[{])/g, "$1");

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
      aria-label={t("Load {spec}", { spec: nameOfSpec(spec) })}
      className="shrink-0 text-xs text-accent hover:underline"
    >
      {t("Load|verb")}
    </Link>
  );
}
