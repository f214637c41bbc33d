import type { startGuarded } from "../peers/mcp-guarded.ts";
import { PASSWORD, type startApp } from "./app.ts";
import { addMcp, CATALOG, mcpApi } from "./catalog.ts";
import { browser } from "./people.ts";
import { openSurfer } from "./surfer.ts";

type Started = Awaited<ReturnType<typeof startApp>>;
type Guarded = Awaited<ReturnType<typeof startGuarded>>;

let count = 0;

/** An entry for the guarded server, with two of its tools. */
export const addGuarded = ({ owner }: Started, { url }: Pick<Guarded, "url">) =>
  addMcp(
    owner,
    mcpApi(`Guarded ${++count}`, { url, tools: [{ upstreamName: "echo" }, { upstreamName: "write" }] }),
  );

/** A browser in which a user of Weir is signed in. */
export async function surferOf(weir: Started, email = "ada@example.com", password = PASSWORD) {
  const own = browser(weir.origin);
  await own.signIn(email, password);
  return openSurfer(new Map([["svc_token", own.cookie().replace("svc_token=", "")]]));
}

/** The owner's complete sign-in through the OAuth server's pages, from the entry and back. */
export async function signIn(weir: Started, id: string, body: object = {}, login = "grace") {
  const begun = await weir.owner("POST", `${CATALOG}/${id}/authorize`, body);
  if (begun.status !== 200) throw new Error(begun.text);
  const surfer = await surferOf(weir);
  const landing = await surfer.go(begun.body.authorizationUrl, login, {
    turn: (url) => (url.pathname.startsWith("/catalog/") ? null : url),
  });
  if (landing.status !== 0) throw new Error(`${landing.trail.join(", ")}: ${landing.text}`);
  return { begun: begun.body, landing, surfer };
}

/** Stops before the way back to Weir. */
export async function stopBefore(weir: Started, id: string, login = "grace", turn = (url: URL) => url) {
  const begun = await weir.owner("POST", `${CATALOG}/${id}/authorize`);
  if (begun.status !== 200) throw new Error(begun.text);
  const surfer = await surferOf(weir);
  const { url } = await surfer.go(begun.body.authorizationUrl, login, {
    turn: (to) => (to.pathname.endsWith("/oauth/callback") ? null : turn(to)),
  });
  return { callback: url, surfer };
}

export const stateOf = async ({ owner }: Started, id: string) =>
  (await owner("GET", `${CATALOG}/${id}/sign-in`)).body;

export const callTool = ({ owner }: Started, id: string, tool = "echo") =>
  owner("POST", `${CATALOG}/${id}/endpoints/${tool}/test`, { input: { text: "hello" } });
