import { openEgress } from "../../src/base/egress.ts";
import { postgres } from "../../src/providers/postgres/postgres.ts";
import { failure, link } from "../support/link.ts";

/** Prints the result for each host with verify-ca and verify-full. Started with the test authority trusted. */
const [port, password = ""] = process.argv.slice(2);
const egress = openEgress({ allow: ["127.0.0.0/8"], self: () => null, resolve: async () => ["127.0.0.1"] });
for (const host of ["localhost", "127.0.0.1", "other.example"]) {
  for (const sslMode of ["verify-ca", "verify-full"]) {
    const connection = link(
      { host, port: Number(port), database: "postgres", sslMode },
      { user: "postgres", password },
      { egress },
    );
    const verified = postgres.verify(connection);
    const outcome = await verified.then(
      () => "ok",
      async () => (await failure(verified)).message,
    );
    process.stdout.write(`${host} ${sslMode} ${outcome}\n`);
  }
}
