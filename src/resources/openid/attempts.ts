import { createHmac } from "node:crypto";
import { eq, lt } from "drizzle-orm";
import { isBelow, withBase } from "../../base/base-path.ts";
import { timestamp } from "../../base/clock.ts";
import { AppError, invalid } from "../../base/errors.ts";
import type { OpenIdChecks, OpenIdProvider } from "../../base/openid.ts";
import { basePathOf } from "../../config.ts";
import type { App } from "../../context.ts";
import { hashToken, isWellFormed, makeToken } from "../../crypto/tokens.ts";
import { openidAttempts } from "./table.ts";

/** Time a user has to return from the provider. */
export const ATTEMPT_MS = 10 * 60 * 1000;
/** How long after that a sign-in is reported as expired. */
const EXPIRED_FOR_MS = 60 * 60 * 1000;
const CALLBACK = "/api/v1/auth/oidc/callback";
const START_PAGE = "/";

/** Returns the identity provider. Throws `not_found` if none is configured. */
export function providerOf({ openid }: App): OpenIdProvider {
  if (openid) return openid;
  throw new AppError(
    "not_found",
    "No identity provider is configured. Set WEIR_OIDC_ISSUER, WEIR_OIDC_CLIENT_ID and WEIR_OIDC_CLIENT_SECRET.",
  );
}

/**
 * Starts a sign-in: returns where the browser goes, and the content of a cookie that binds the response to this
 * browser. Several can be in progress in one browser. Throws `invalid` for a page on another server, `not_found`,
 * `upstream`, `timeout`.
 */
export async function beginSignIn(
  app: App,
  { returnTo, browser }: { returnTo?: string | undefined; browser: string | null },
): Promise<{ location: string; browser: string }> {
  const provider = providerOf(app);
  const target = pageOnWeir(app, returnTo ?? START_PAGE);
  const own = browser !== null && isWellFormed(browser, "") ? browser : makeToken("", app.ids);
  const state = makeToken("", app.ids);
  const location = await provider.authorizationUrl(checksFor(app, state, own));
  const attempt = {
    stateHash: hashToken(state),
    browserHash: hashToken(own),
    returnTo: target,
    expiresAt: timestamp(app.clock, ATTEMPT_MS),
  };
  const forgotten = lt(openidAttempts.expiresAt, timestamp(app.clock, -EXPIRED_FOR_MS));
  await app.store.write(async (db) => {
    await db.delete(openidAttempts).where(forgotten);
    await db.insert(openidAttempts).values(attempt);
  });
  return { location, browser: own };
}

/**
 * Takes the sign-in that `state` belongs to, so that it can't be used again. Throws `bad_request` for an unknown or
 * used state, `csrf` for another browser, and `gone` after 10 minutes.
 */
export async function takeAttempt(
  app: App,
  { state, browser }: { state: string | undefined; browser: string | null },
): Promise<{ checks: OpenIdChecks; returnTo: string }> {
  const address = `${app.baseUrl()}/login`;
  const [attempt] =
    state !== undefined && isWellFormed(state, "")
      ? await app.store.write((db) =>
          db
            .delete(openidAttempts)
            .where(eq(openidAttempts.stateHash, hashToken(state)))
            .returning(),
        )
      : [];
  if (!attempt || state === undefined) {
    throw new AppError("bad_request", `Unknown sign-in, or it was already used. Start again at ${address}.`);
  }
  if (browser === null || hashToken(browser) !== attempt.browserHash) {
    throw new AppError(
      "csrf",
      `This sign-in was started in another browser, or at another URL. Start again at ${address}.`,
    );
  }
  if (attempt.expiresAt <= timestamp(app.clock)) {
    throw new AppError("gone", `This sign-in expired after 10 minutes. Start again at ${address}.`);
  }
  return { checks: checksFor(app, state, browser), returnTo: attempt.returnTo };
}

/** Derived from a value that only the browser has, so that nothing worth stealing is stored. */
function checksFor(app: App, state: string, browser: string): OpenIdChecks {
  const derive = (purpose: string) =>
    createHmac("sha256", browser).update(`${purpose}:${state}`).digest("base64url");
  return {
    redirectUri: app.baseUrl() + CALLBACK,
    state,
    nonce: derive("nonce"),
    verifier: derive("verifier"),
  };
}

/** Returns path, query and fragment of a page on this server. Throws `invalid` for any other page. */
function pageOnWeir(app: App, text: string): string {
  const own = app.baseUrl();
  const base = basePathOf(app.config);
  const url = URL.parse(text, own);
  const isOwn =
    url !== null && url.origin === new URL(own).origin && url.username === "" && url.password === "";
  const isPath =
    /^\/(?![/\\])/.test(text) || (/^https?:\/\/[^/\\]/i.test(text) && isBelow(base, url?.pathname ?? ""));
  if (!isOwn || !isPath || url.pathname.startsWith("//") || /[\\\p{Cc}]/u.test(text)) {
    throw invalid(
      ["query", "return_to"],
      "Input should be a path on this server, such as /docs",
      "foreign_address",
    );
  }
  return withBase(base, url.pathname) + url.search + url.hash;
}
