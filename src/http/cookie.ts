import { SESSION_COOKIE, SESSION_MAX_MS } from "../resources/sessions/service.ts";

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
