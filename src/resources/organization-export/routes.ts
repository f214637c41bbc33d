import { AppError } from "../../base/errors.ts";
import { operation, Reply, type Visit } from "../../http/operation.ts";
import { toStream } from "../../providers/files/streams.ts";
import { exportOrganization } from "./archive.ts";

export const organizationExportOperations = [
  operation({
    method: "GET",
    path: "/api/v1/organizations/current/export",
    audience: "owner",
    tag: "Organizations",
    summary: "Export the organization",
    description:
      "A tar archive with resources as JSON Lines, the lake's Parquet files, artifacts and files. Credentials and other users' chats are not included. Its last file, `manifest.json`, lists all files with their SHA-256 and what is left out. An archive without it is incomplete.",
    produces: "application/x-tar",
    errors: [429],
    async handle({ ctx, visit }) {
      const chunks = await exportOrganization(ctx);
      visit.keepOpen();
      const day = ctx.clock.now().toISOString().slice(0, 10);
      return new Reply(200, toStream(whileAdmitted(visit, chunks)), {
        "content-type": "application/x-tar",
        "content-disposition": `attachment; filename="organization-${day}.tar"`,
      });
    },
  }),
];

/** Aborts when the process stops, and when the caller loses access. */
async function* whileAdmitted(visit: Visit, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (visit.closing.aborted) throw new AppError("unavailable", "The server is stopping.");
    if ((await visit.isStillAdmitted?.()) === false)
      throw new AppError("forbidden", "You are no longer an owner of this organization.");
    if (chunk.length > 0) yield chunk;
  }
}
