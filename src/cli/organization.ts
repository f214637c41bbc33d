import { AppError } from "../base/errors.ts";
import { UsageError } from "./host.ts";
import { refuseExisting, saveFile } from "./output-file.ts";
import { counted, openProgress } from "./progress.ts";
import { apiOf, commandOf, verb } from "./verbs.ts";

/** Number of zeros at the end of a tar archive. */
const END_BYTES = 1024;

/** `weir organization export` */
export const organization = commandOf("organization", {
  export: verb({
    options: { output: { type: "string", short: "o" } },
    async run({ flags, host }) {
      const { output } = flags;
      if (output === undefined)
        throw new UsageError("Missing flag: --output, the new file, or - for standard output.");
      if (output !== "-") refuseExisting(output);
      const reply = await apiOf({ flags, host }).open("GET", "/api/v1/organizations/current/export");
      if (output === "-") {
        for await (const bytes of whole(reply.body)) host.write(bytes);
        return;
      }
      const progress = openProgress(host);
      progress.begin("Exporting", null);
      const bytes = await saveFile(counted(whole(reply.body), progress), output).finally(progress.end);
      host.out(flags.json ? JSON.stringify({ output, bytes }) : `${output}: ${bytes} bytes.`);
    },
  }),
});

/** Streams the archive. Throws `upstream` if it is truncated. */
async function* whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let end = new Uint8Array();
  for await (const chunk of body) {
    yield chunk;
    end = new Uint8Array(Buffer.concat([end, chunk.subarray(-END_BYTES)]).subarray(-END_BYTES));
  }
  if (end.length < END_BYTES || end.some((byte) => byte !== 0))
    throw new AppError(
      "upstream",
      "The archive is incomplete: the server stopped sending it. See the server log, then try again.",
    );
}
