import { accountAt, accountLine, signedIn, whileSignedIn } from "./account.ts";
import { carryOut, type Host, readArgs } from "./host.ts";
import { usage } from "./usage.ts";

/** `weir whoami`: shows the account that this terminal uses. */
export const whoami = (args: readonly string[], host: Host) =>
  carryOut(host, usage.whoami.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: { server: { type: "string" }, json: { type: "boolean" } },
    });
    const { server, client } = signedIn(host, flags.server);
    const account = await whileSignedIn(server, accountAt(server, client));
    host.out(flags.json ? JSON.stringify(account) : accountLine(account));
  });
