import type { NavigateOptions } from "wouter";
import { navigate, useBrowserLocation } from "wouter/use-browser-location";
import { ApiError, call, chooseOrganization, openOrganization, shown } from "./api.ts";
import { base } from "./base.ts";

const NAME = "organization";

/** A link that names its organization, for a new tab. */
export function linkTo(href: string, organization: string): string {
  const [rest = "", ...hash] = href.split(/(?=#)/);
  return `${rest}${rest.includes("?") ? "&" : "?"}${NAME}=${organization}${hash.join("")}`;
}

/**
 * Opens the home page of another organization, which discards everything read so far. The URL names the organization
 * in case the browser doesn't store it.
 */
export function switchTo(id: string): void {
  chooseOrganization(id);
  location.assign(linkTo(`${base}/`, id));
}

/** The organization of the current entry of the tab's history. */
const organizationOfEntry = () =>
  (history.state as { organization?: string | null } | null)?.organization ?? null;

/** Notes the tab's organization in the current entry of its history, so that going back to it opens it again. */
export function noteOrganization(): void {
  const { organization } = shown();
  if (organization !== organizationOfEntry()) history.replaceState({ ...history.state, organization }, "");
}

const go: typeof navigate = (to: string | URL, options: NavigateOptions = {}) =>
  navigate(to, { ...options, state: { ...options.state, organization: shown().organization } });

/** The location for the router. Each entry of the history names its organization. */
export const useNamedLocation: typeof useBrowserLocation = (options) => [useBrowserLocation(options)[0], go];

/** The organization that the link or the entry of the history names, unless the tab is already in it. */
function linkedOrganization(): string | null {
  const wanted = new URL(location.href).searchParams.get(NAME) ?? organizationOfEntry();
  return wanted === shown().organization ? null : wanted;
}

/** Opens the named organization, only in this tab, if the user is a member. */
export async function followLink(): Promise<void> {
  const wanted = linkedOrganization();
  if (wanted !== null) {
    try {
      const { items } = await call("GET /api/v1/users/me/memberships", {});
      if (items.some(({ organization }) => organization.id === wanted)) openOrganization(wanted);
    } catch (error) {
      // After signing in, or without the organization that the user has left, the user returns here.
      if (error instanceof ApiError && [401, 403].includes(error.status)) return;
      throw error;
    }
  }
  const url = new URL(location.href);
  if (!url.searchParams.has(NAME)) return;
  url.searchParams.delete(NAME);
  history.replaceState({ organization: shown().organization }, "", url);
}
