import { startOpenId } from "../peers/openid.ts";
import { client, type StartOptions, startApp } from "./app.ts";
import { openSurfer } from "./surfer.ts";

/** A server that signs users in with a real OpenID provider. `await using` ends both. */
export async function startWithProvider(
  provider: Parameters<typeof startOpenId>[0] = {},
  { env, ...options }: StartOptions = {},
) {
  const peer = await startOpenId(provider);
  const app = await startApp({ engine: false, ...options, env: { ...peer.env, ...env } });
  await peer.register(app.origin);
  const start = (returnTo?: string) =>
    `${app.origin}/api/v1/auth/oidc/start${returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`}`;
  return {
    ...app,
    peer,
    start,
    /** A complete sign-in of `login` in a separate browser, and a client of that browser. */
    async signIn(login: string, surfer = openSurfer()) {
      const landing = await surfer.go(start("/health"), login);
      const cookie = `svc_token=${surfer.jar.get("svc_token")}`;
      return { landing, surfer, call: client(app.origin, { cookie, "sec-fetch-site": "same-origin" }) };
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    },
  };
}

/** Runs the sign-in of `login` up to the redirect back, and returns its URL. */
export async function stopAtCallback(
  start: string,
  login: string,
  surfer = openSurfer(),
  turn: (url: URL) => URL = (url) => url,
): Promise<{ callback: URL; surfer: ReturnType<typeof openSurfer> }> {
  const { url } = await surfer.go(start, login, {
    turn: (to) => (to.pathname.endsWith("/oidc/callback") ? null : turn(to)),
  });
  return { callback: url, surfer };
}
