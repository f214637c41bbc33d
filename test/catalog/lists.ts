import type { EndpointDefinition, Listing } from "../../src/catalog/contract.ts";
import type { Endpoint } from "../../src/providers/http-template/endpoint.ts";

/** A listing as one line: path, rows, paging, key and cursor, with `?` in front of what is left open. */
export function lineOf({ path, listing }: EndpointDefinition & { listing: Listing }): string {
  const endpoint: Endpoint = listing.endpoint;
  const { primaryKey, incremental, unresolved } = listing;
  const openIn = (field: string) => unresolved.find((each) => each.field === field)?.message;
  const rows = openIn("endpoint.dataPath");
  const pages = openIn("endpoint.paginator");
  const since = incremental ? `${incremental.cursorField} by ${endpoint.incremental?.startParam}` : "";
  const parts = [
    path,
    rows ? `? ${rows}` : (endpoint.dataPath ?? "@"),
    pages ? `? ${pages}` : rows ? "" : pagesOf(endpoint),
    primaryKey.join(","),
    since,
  ];
  return parts.join("\t").trimEnd();
}

function pagesOf({ paginator, totalPath }: Endpoint): string {
  const total = totalPath === undefined ? "" : ` of ${totalPath}`;
  if (paginator === undefined || paginator.type === "none") return `all${total}`;
  const more = "hasNextPath" in paginator && paginator.hasNextPath ? ` while ${paginator.hasNextPath}` : "";
  const { sizeParam, pageSize } = paginator;
  const size = sizeParam === undefined ? "" : `, ${sizeParam}${pageSize === undefined ? "" : `=${pageSize}`}`;
  return `${wayOf(paginator)}${more}${size}${total}`;
}

function wayOf(paginator: NonNullable<Endpoint["paginator"]>): string {
  switch (paginator.type) {
    case "none":
      return "all";
    case "link_header":
      return "Link";
    case "json_link":
      return `next ${paginator.nextPath}`;
    case "cursor":
      return `${paginator.cursorParam}=${paginator.cursorPath}`;
    case "page":
      return `${paginator.pageParam} from ${paginator.startPage}`;
    case "offset":
      return `${paginator.offsetParam} from ${paginator.startOffset}`;
  }
}
