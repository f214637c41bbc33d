import { Database } from "bun:sqlite";

/**
 * The thread for operations that would block others: moving the WAL to the database file, and copying the file. It
 * replies to each request with null or an error message.
 */
export type CopierRequest =
  | { readonly do: "checkpoint"; readonly path: string }
  | { readonly do: "copy"; readonly path: string; readonly to: string }
  | { readonly do: "close" };

export type CopierReply = { readonly fault: null } | { readonly fault: string; readonly code: string };

declare const self: Worker;

let kept: Database | null = null;

self.onmessage = ({ data }: MessageEvent<CopierRequest>) => {
  try {
    perform(data);
    self.postMessage({ fault: null } satisfies CopierReply);
  } catch (error) {
    const { message, code } = error as { message: string; code?: unknown };
    self.postMessage({ fault: message, code: String(code) } satisfies CopierReply);
  }
};

function perform(request: CopierRequest): void {
  if (request.do === "close") {
    kept?.close();
    kept = null;
    return;
  }
  kept ??= new Database(request.path, { readwrite: true, create: false });
  if (request.do === "copy") kept.run("VACUUM INTO ?", [request.to]);
  else kept.run("PRAGMA wal_checkpoint(PASSIVE)");
}
