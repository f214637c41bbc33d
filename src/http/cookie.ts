import { SESSION_COOKIE, SESSION_MAX_MS } from "../resources/sessions/service.ts";
import { BROWSER_KNOWN_MS } from "../resources/sign-in/browsers.ts";
import type { Visit } from "./operation.ts";

/** Under https no other host of the same domain can set it. */
const browserCookieName = (isSecure: boolean) => (isSecure ? "__Host-svc_browser" : "svc_browser");

/** What a browser is known by to accounts that signed in there; null where nobody did. */
export const browserOf = ({ request, isSecure }: Visit): string | null =>
  cookieOf(request.headers.get("cookie"), browserCookieName(isSecure));

/** Holds the session, and what the browser is known by. */
export const signedInCookies = (
  { token, browser }: { token: string; browser: string },
  isSecure: boolean,
) => ({
  "set-cookie": [
    sessionCookie(token, isSecure)["set-cookie"],
    `${browserCookieName(isSecure)}=${browser}; Path=/; Max-Age=${BROWSER_KNOWN_MS / 1000}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`,
  ],
});

/** Holds the session for as long as one can last; the server alone decides when it ends. */
export const sessionCookie = (token: string, isSecure: boolean) => ({
  "set-cookie": cookie(token, SESSION_MAX_MS / 1000, isSecure),
});

export const clearedCookie = (isSecure: boolean) => ({ "set-cookie": cookie("", 0, isSecure) });

const cookie = (value: string, maxAgeSeconds: number, isSecure: boolean) =>
  `${SESSION_COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;

/** The value of cookie `name`; null where it is not there or empty. */
export function cookieOf(header: string | null, name: string): string | null {
  for (const part of header?.split(";") ?? []) {
    const [key, ...rest] = part.split("=");
    if (key?.trim() === name) return rest.join("=").trim().replace(/^"|"$/g, "") || null;
  }
  return null;
}
