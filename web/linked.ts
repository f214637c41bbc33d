import { call, openOrganization } from "./api.ts";

const NAME = "organization";

/** A link that names its organization, for a new tab. */
export function linkTo(href: string, organization: string): string {
  const [rest = "", ...hash] = href.split(/(?=#)/);
  return `${rest}${rest.includes("?") ? "&" : "?"}${NAME}=${organization}${hash.join("")}`;
}

/** Opens a link in the organization that it names, only in this tab, if the user is a member. */
export async function followLink(): Promise<void> {
  const url = new URL(location.href);
  const wanted = url.searchParams.get(NAME);
  if (wanted === null) return;
  try {
    const { items } = await call("GET /api/v1/users/me/memberships", {});
    if (items.some(({ organization }) => organization.id === wanted)) openOrganization(wanted);
  } catch {
    return; // after signing in, the user returns here
  }
  url.searchParams.delete(NAME);
  history.replaceState(null, "", url);
}
