import { carryOut, type Host, readArgs } from "./host.ts";
import { printJson } from "./show.ts";
import { usage } from "./usage.ts";

/** `weir openapi`: prints the OpenAPI document of this version, without a server. */
export const openapi = (args: readonly string[], host: Host) =>
  carryOut(host, usage.openapi.line, async () => {
    readArgs({ args: [...args], options: { json: { type: "boolean" } } });
    const [{ operations }, { openApiDocument }, { STATUS }] = await Promise.all([
      import("../server.ts"),
      import("../resources/openapi/document.ts"),
      import("../http/problem.ts"),
    ]);
    printJson(host, JSON.stringify(openApiDocument(operations, STATUS)));
  });
