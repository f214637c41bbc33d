import type { Host } from "./host.ts";

/** Programs that open a URL in the browser. The URL is their last argument, and no shell interprets it. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  linux: ["xdg-open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens a URL in the browser. Does nothing if there is none, as over SSH. The URL is printed in any case. */
export function openBrowser(env: Host["env"] = {}, url: string): void {
  const { protocol, href } = new URL(url);
  const opener = OPENERS[process.platform];
  const hasScreen = process.platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  if (!/^https?:$/.test(protocol) || opener === undefined || !hasScreen || env.SSH_CONNECTION) return;
  const program = Bun.which(opener[0] ?? "", env.PATH === undefined ? {} : { PATH: env.PATH });
  if (program === null) return;
  // May run as long as the browser, and outlives the terminal.
  const command = [program, ...opener.slice(1), href];
  Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"], detached: true }).unref();
}
