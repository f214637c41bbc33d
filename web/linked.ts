import { call, openOrganization } from "./api.ts";

const NAME = "organization";

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
