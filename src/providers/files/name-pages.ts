import { AppError } from "../../base/errors.ts";

const PAGE_ITEMS = 1_000;

/** Entries of a folder. */
export interface Name {
  name: string;
  folder: boolean;
}

/** One page of a folder by the last page's token: folders first, then by name. Throws `bad_request` for a bad token. */
export function pageOf<N extends Name>(
  names: readonly N[],
  pageToken?: string,
): { page: N[]; nextPageToken?: string } {
  const cursor = pageToken === undefined ? null : readToken(pageToken);
  const sorted = [...names].sort(
    (a, b) => Number(b.folder) - Number(a.folder) || compareNames(a.name, b.name),
  );
  const start = cursor === null ? 0 : sorted.findIndex((each) => isAfter(each, cursor));
  const page = start < 0 ? [] : sorted.slice(start, start + PAGE_ITEMS);
  const last = page.at(-1);
  return last && start + PAGE_ITEMS < sorted.length ? { page, nextPageToken: writeToken(last) } : { page };
}

/** Orders by UTF-8 bytes. */
export const compareNames = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const isAfter = (each: Name, cursor: Name): boolean =>
  each.folder === cursor.folder ? compareNames(each.name, cursor.name) > 0 : cursor.folder;

const writeToken = ({ folder, name }: Name) =>
  Buffer.from(JSON.stringify([folder, name])).toString("base64url");

function readToken(token: string): Name {
  const fault = (cause?: unknown) => new AppError("bad_request", "Invalid page token.", { cause });
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch (cause) {
    throw fault(cause);
  }
  const [folder, name] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof folder !== "boolean" || typeof name !== "string") throw fault();
  return { folder, name };
}
