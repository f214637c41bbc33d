import { AppError } from "../../base/errors.ts";
import { defineProvider } from "../contract.ts";
import { extractFiles } from "../files/file-extract.ts";
import { openFile } from "./export.ts";
import { listFiles } from "./files.ts";
import { DriveConfig, DriveCredentials, signInOf } from "./shape.ts";
import { driveTree } from "./sync.ts";
import { driveToken } from "./token.ts";
import { browse, findPath, findRoot, itemOf } from "./tree.ts";
import { driveSource } from "./walk.ts";
import { writeItem } from "./write.ts";

/** Google Drive by its API v3, My Drive and shared drives. Files in the trash are ignored. */
export const googleDrive = defineProvider({
  id: "google_drive",
  title: "Google Drive",
  description: "Files in Google Drive. Google Sheets are read with all of their sheets, or as CSV.",
  config: DriveConfig,
  credentials: DriveCredentials,
  destination: ["baseUrl"],
  lacks: ({ serviceAccountJson, clientId, clientSecret }) => {
    if (serviceAccountJson || (clientId && clientSecret)) return null;
    const field = clientId ? "clientSecret" : "clientId";
    return { field, message: "Give serviceAccountJson, or clientId and clientSecret" };
  },
  signIn: signInOf,

  async verify(link) {
    await driveToken(link, { isFresh: true });
    const { id, driveId } = await findRoot(link, true);
    await listFiles(link, { folderId: id, driveId, pageSize: 1 }, true);
  },

  files: {
    list: browse,
    async stat(link, path) {
      const found = await findPath(link, path);
      if (found.file === null || found.id === link.config.rootFolderId) {
        return { id: "/", name: "/", kind: "folder", mimeType: null, size: null, modifiedAt: null };
      }
      return { ...itemOf(found.file, found.above), size: found.target?.size ?? null };
    },
    async read(link, path) {
      const { target } = await findPath(link, path);
      if (target === null) throw new AppError("bad_request", "The path names the root, which is a folder.");
      return openFile(link, target);
    },
    write: writeItem,
  },

  tree: driveTree,

  extract: (link, request) => extractFiles(driveSource(link), request),
});
