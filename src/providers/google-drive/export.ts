import { AppError } from "../../base/errors.ts";
import type { OtherName } from "../files/file-extract.ts";
import { readChunks, toStream } from "../files/streams.ts";
import { getDrive } from "./client.ts";
import { isTooLarge } from "./failure.ts";
import type { DriveFile } from "./files.ts";
import type { DriveLink } from "./shape.ts";

const GOOGLE = "application/vnd.google-apps.";
const SHEET = `${GOOGLE}spreadsheet`;

/** A Sheet with all of its tabs. Drive for desktop uses this extension for Sheets. */
const WORKBOOK = {
  ending: ".gsheet",
  mimeType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

/** Export formats of Google's own documents. As CSV, Google exports the first tab of a Sheet. */
const EXPORTS: Readonly<Record<string, { ending: string; mimeType: string }>> = {
  spreadsheet: { ending: ".csv", mimeType: "text/csv" },
  document: {
    ending: ".docx",
    mimeType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  },
  presentation: {
    ending: ".pptx",
    mimeType: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  },
  drawing: { ending: ".png", mimeType: "image/png" },
};

const exportOf = (mimeType: string) =>
  mimeType.startsWith(GOOGLE) ? (EXPORTS[mimeType.slice(GOOGLE.length)] ?? null) : null;

/** Whether it is one of Google's own documents, whose bytes are created anew for each export. */
export const isNative = (mimeType: string): boolean => mimeType.startsWith(GOOGLE);

/** The filename with the extension of what `openFile` returns. */
export function exportedName({
  name,
  mimeType,
  target,
}: Pick<DriveFile, "name" | "mimeType" | "target">): string {
  const { ending = "" } = exportOf(target?.mimeType ?? mimeType) ?? {};
  return name.toLowerCase().endsWith(ending) ? name : `${name}${ending}`;
}

/**
 * Names for all tabs of a Sheet, in addition to `exportedName`, which means its first tab: those of `path`, whose last
 * part is that name or derived from it.
 */
export function workbookNames({ name, mimeType, target }: DriveFile, path: string): OtherName[] {
  if ((target?.mimeType ?? mimeType) !== SHEET) return [];
  const isBare = name.toLowerCase().endsWith(".csv"); // the plain name means the first tab
  const own = isBare ? path : path.slice(0, -".csv".length);
  const plain: OtherName = { path: own, format: "xlsx", isPlain: true };
  return [...(isBare ? [] : [plain]), { ...plain, path: `${own}${WORKBOOK.ending}`, isPlain: false }];
}

/** A name without the extension that an export adds; null if it has none. */
export function withoutEnding(name: string): string | null {
  const found = Object.values(EXPORTS).find(({ ending }) => name.endsWith(ending));
  return found ? name.slice(0, -found.ending.length) : null;
}

/**
 * Content of a file that isn't a shortcut. Google's own documents are exported, Sheets as workbooks if requested.
 * Throws `bad_request` if it has no content; the stream throws `upstream` (retryable) if the bytes aren't those of the
 * listed file.
 */
export async function openFile(
  link: DriveLink,
  { id, name, mimeType, md5 = null }: Pick<DriveFile, "id" | "name" | "mimeType"> & { md5?: string | null },
  { asWorkbook = false }: { asWorkbook?: boolean } = {},
): Promise<ReadableStream<Uint8Array>> {
  const path = `/files/${encodeURIComponent(id)}`;
  const what = JSON.stringify(name);
  const isWorkbook = asWorkbook && mimeType === SHEET;
  const exported = isWorkbook ? WORKBOOK : exportOf(mimeType);
  if (mimeType.startsWith(GOOGLE) && !exported) {
    throw new AppError(
      "bad_request",
      `${what} is a folder or a Google form, site or map, which can't be read as a file.`,
    );
  }
  const { body } = exported
    ? await getDrive(link, {
        path: `${path}/export`,
        query: { mimeType: exported.mimeType },
        what,
        isHurried: false,
      }).catch((error: unknown) => {
        throw isWorkbook && isTooLarge(error) ? tooManyTabs(name, error) : error;
      })
    : await getDrive(link, { path, query: { alt: "media" }, what, isHurried: false });
  return md5 === null || exported ? body : toStream(checked(readChunks(body, link.signal), md5, what));
}

const tooManyTabs = (name: string, { message, details, cause }: AppError) =>
  new AppError(
    "upstream",
    `${message} Split the Sheet, or read its first tab alone as ${JSON.stringify(`${name}.csv`)}.`,
    { ...(details ? { details } : {}), cause },
  );

async function* checked(
  bytes: AsyncIterable<Uint8Array>,
  md5: string,
  what: string,
): AsyncGenerator<Uint8Array> {
  const hash = new Bun.CryptoHasher("md5");
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest("hex") === md5) return;
  throw new AppError("upstream", `${what} was changed while it was read.`, {
    retryable: true,
    details: { rule: "changed" },
  });
}
