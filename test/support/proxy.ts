import { type StartOptions, startApp } from "./app.ts";

/**
 * How a proxy can forward requests below `/weir`:
 * without that prefix, like nginx's `proxy_pass http://weir:8484/`, or with it.
 */
export const WAYS = ["takes the base path off", "passes the base path on"] as const;

/** A proxy that forwards `/weir` to a server. Everything else on it is another site, recorded in `strays`. */
function startProxy(way: (typeof WAYS)[number]) {
  const strays: string[] = [];
  let upstream = "";
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search, host } = new URL(request.url);
      if (pathname !== "/weir" && !pathname.startsWith("/weir/")) {
        strays.push(`${request.method} ${pathname}`);
        return new Response("Another site.", { status: 418 });
      }
      const takesOff = way === WAYS[0];
      if (takesOff && pathname === "/weir")
        return new Response(null, { status: 301, headers: { location: "/weir/" } });
      const headers = new Headers(request.headers);
      headers.set("host", host);
      headers.set("x-forwarded-for", "192.0.2.7");
      headers.set("x-forwarded-proto", "http");
      const reply = await fetch(upstream + (takesOff ? pathname.slice("/weir".length) : pathname) + search, {
        method: request.method,
        headers,
        body: request.body,
        redirect: "manual",
        signal: request.signal,
        decompress: false,
      });
      return new Response(reply.body, { status: reply.status, headers: reply.headers });
    },
  });
  return {
    origin: `http://127.0.0.1:${proxy.port}`,
    strays,
    leadTo: (origin: string) => {
      upstream = origin;
    },
    stop: () => proxy.stop(true),
  };
}

/** A server below `/weir` of a proxy: `site` is its URL there, `direct` where it listens. `await using` ends both. */
export async function startBelow(way: (typeof WAYS)[number], { env, ...options }: StartOptions = {}) {
  const proxy = startProxy(way);
  const site = `${proxy.origin}/weir`;
  const app = await startApp({
    ...options,
    env: { WEIR_BASE_URL: site, WEIR_TRUSTED_PROXIES: "127.0.0.1/32", ...env },
  });
  proxy.leadTo(app.origin);
  return {
    ...app,
    origin: site,
    site,
    direct: app.origin,
    host: proxy.origin,
    strays: proxy.strays,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await proxy.stop();
    },
  };
}

export type Below = Awaited<ReturnType<typeof startBelow>>;
