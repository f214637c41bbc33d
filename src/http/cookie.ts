import { SESSION_COOKIE, SESSION_MAX_MS } from "../resources/sessions/service.ts";
import { BROWSER_KNOWN_MS } from "../resources/sign-in/browsers.ts";
import type { Visit } from "./operation.ts";

/** With the prefix `__Host-`, no other host of the domain can set it over HTTPS. */
const browserCookieName = (isSecure: boolean) => (isSecure ? "__Host-svc_browser" : "svc_browser");

/** Identifies a browser to the accounts that signed in there. Null if none did. */
export const browserOf = ({ request, isSecure }: Visit): string | null =>
  cookieOf(request.headers.get("cookie"), browserCookieName(isSecure));

/** Cookies with the session and the browser's identifier. */
export const signedInCookies = (
  { token, browser }: { token: string; browser: string },
  isSecure: boolean,
) => ({
  "set-cookie": [
    sessionCookie(token, isSecure)["set-cookie"],
    `${browserCookieName(isSecure)}=${browser}; Path=/; Max-Age=${BROWSER_KNOWN_MS / 1000}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`,
  ],
});

/** Lasts as long as a session can. Only the server decides when the session ends. */
export const sessionCookie = (token: string, isSecure: boolean) => ({
  "set-cookie": cookie(token, SESSION_MAX_MS / 1000, isSecure),
});

export const clearedCookie = (isSecure: boolean) => ({ "set-cookie": cookie("", 0, isSecure) });

const cookie = (value: string, maxAgeSeconds: number, isSecure: boolean) =>
  `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

/** Returns the value of the cookie `name`. Null if it is missing or empty. */
export function cookieOf(header: string | null, name: string): string | null {
  for (const part of header?.split(";") ?? []) {
    const [key, ...rest] = part.split("=");
    if (key?.trim() === name) return rest.join("=").trim().replace(/^"|"$/g, "") || null;
  }
  return null;
}
