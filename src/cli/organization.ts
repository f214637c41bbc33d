import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { AppError } from "../base/errors.ts";
import { UsageError } from "./host.ts";
import { apiOf, commandOf, verb } from "./verbs.ts";

/** A tar archive ends with as many zeros. */
const END_BYTES = 1024;

/** `weir organization export` */
export const organization = commandOf("organization", {
  export: verb({
    options: { output: { type: "string", short: "o" } },
    async run({ flags, host }) {
      const { output } = flags;
      if (output === undefined)
        throw new UsageError("Missing flag: --output, the new file, or - for standard output.");
      if (output !== "-" && existsSync(output)) {
        throw new AppError("conflict", `${output} already exists. Choose another filename.`);
      }
      const reply = await apiOf({ flags, host }).open("GET", "/api/v1/organizations/current/export");
      if (output === "-") return void (await passOn(reply.body, (bytes) => host.write(bytes)));
      const bytes = await save(reply.body, output);
      host.out(flags.json ? JSON.stringify({ output, bytes }) : `${output}: ${bytes} bytes.`);
    },
  }),
});

/** Writes the file under its name once all of it is there. */
async function save(body: AsyncIterable<Uint8Array>, output: string): Promise<number> {
  const part = `${output}.part`;
  const file = await open(part, "w", 0o600);
  try {
    const bytes = await passOn(body, (chunk) => file.writeFile(chunk));
    await file.sync();
    await file.close();
    await rename(part, output);
    return bytes;
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
}

/** Throws `upstream` for an archive that breaks off. */
async function passOn(
  body: AsyncIterable<Uint8Array>,
  take: (chunk: Uint8Array) => unknown,
): Promise<number> {
  let bytes = 0;
  let end = new Uint8Array();
  for await (const chunk of body) {
    await take(chunk);
    bytes += chunk.length;
    end = new Uint8Array(Buffer.concat([end, chunk.subarray(-END_BYTES)]).subarray(-END_BYTES));
  }
  if (end.length < END_BYTES || end.some((byte) => byte !== 0))
    throw new AppError(
      "upstream",
      "The archive is incomplete: the server stopped sending it. See the server log, then try again.",
    );
  return bytes;
}
