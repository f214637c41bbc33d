import { call, openOrganization } from "./api.ts";

const NAME = "organization";

/** Opens a link that names an organization in that one, in this tab alone, if the person belongs to it. */
export async function followLink(): Promise<void> {
  const url = new URL(location.href);
  const wanted = url.searchParams.get(NAME);
  if (wanted === null) return;
  try {
    const { items } = await call("GET /api/v1/users/me/memberships", {});
    if (items.some(({ organization }) => organization.id === wanted)) openOrganization(wanted);
  } catch {
    return; // who has to sign in first comes back here
  }
  url.searchParams.delete(NAME);
  history.replaceState(null, "", url);
}
