import { AppError } from "../base/errors.ts";
import { version } from "../version.ts";
import { type Client, openClient, plain } from "./client.ts";
import { openCredentials } from "./credentials.ts";
import { type Host, NotSignedIn, UsageError } from "./host.ts";

/** The account that commands of this terminal use, as `--json` prints it. */
export interface Account {
  server: string;
  userId: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  /** Null, like the next two, if the user belongs to no organization. */
  organizationId: string | null;
  organizationSlug: string | null;
  role: string | null;
}

/** The server from `--server`, else from the environment, else the one last signed in to, else one on this machine. */
export function serverOf({ person }: Host, named: string | undefined): string {
  const text = named ?? person.server ?? openCredentials(person).server() ?? "http://127.0.0.1:8484";
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new UsageError(`Invalid server URL: ${text}. Use a URL such as https://weir.example.com.`);
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** User-Agent of this program. */
export function agentOf({ person }: Host): string {
  const system = { darwin: "Mac OS X", linux: "Linux", win32: "Windows" }[process.platform as string];
  const about = [system ?? process.platform, ...(person.terminal === null ? [] : [person.terminal])];
  return `weir/${version} (${about.join("; ").replace(/[^\w.+; -]/g, "")})`;
}

/** Returns the server to call and the stored token. Throws `NotSignedIn`. */
export function signedIn(
  host: Host,
  named: string | undefined,
  organization = host.person.organization,
): { server: string; token: string; client: Client } {
  const server = serverOf(host, named);
  const token = openCredentials(host.person).tokenFor(server);
  if (token === null) throw new NotSignedIn(`Not signed in to ${server}. Run "weir login".`);
  if (/[^\x21-\x7e]/.test(token))
    throw new NotSignedIn("WEIR_TOKEN isn't a token: it contains spaces, line breaks or other characters.");
  return { server, token, client: openClient(server, { token, userAgent: agentOf(host), organization }) };
}

/** Does `work`. Throws `NotSignedIn` if the server rejects the token. */
export async function whileSignedIn<T>(server: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AppError && error.code === "unauthenticated")) throw error;
    throw new NotSignedIn(`${server} rejected your token: ${error.message} Run "weir login".`);
  }
}

/** Asks the server for the token's user, organization and role. */
export async function accountAt(server: string, client: Client): Promise<Account> {
  const user = await client.get<{
    id: string;
    email: string;
    firstName: string | null;
    lastName: string | null;
  }>("/api/v1/users/me");
  const { items } = await client.get<{ items: Membership[] }>("/api/v1/users/me/memberships");
  const current = items.find(({ isCurrent }) => isCurrent);
  return {
    server,
    userId: user.id,
    email: user.email,
    firstName: user.firstName,
    lastName: user.lastName,
    organizationId: current?.organization.id ?? null,
    organizationSlug: current?.organization.slug ?? null,
    role: current?.role ?? null,
  };
}

interface Membership {
  isCurrent: boolean;
  role: string;
  organization: { id: string; slug: string };
}

/** One line for people. */
export const accountLine = ({ email, server, organizationSlug, role }: Account): string =>
  plain(`${email} at ${server}${organizationSlug === null ? "" : `, ${role} of ${organizationSlug}`}`);
