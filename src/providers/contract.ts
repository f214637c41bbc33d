import type { Static, TSchema } from "@sinclair/typebox";
import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { Column } from "../sql/contract.ts";

/** One opened connection: what a provider gets to work with. */
export interface Link<Config = JsonObject, Credentials = Record<string, string>> {
  connectionId: string;
  config: Config;
  credentials: Credentials;
  /** The only way out. */
  egress: Egress;
  clock: Clock;
  signal: AbortSignal;
  /** The organization's own `files/` folder, absolute. */
  filesFolder: string;
  /** Where a token that the credentials were changed for is kept until it expires; absent where nothing is kept. */
  tokens?: TokenStore;
  /** Tells people what the work did not fail over, such as a field that may not be read; absent where nobody listens. */
  warn?(text: string): void;
  /** Tells people until when the work waits for the other side's limits, an ISO instant; null when it goes on. */
  waits?(until: string | null): void;
}

/** One short-lived token of a connection, for as long as config and credentials stay as they are. */
export interface TokenStore {
  /** Null where there is none, or none any more. */
  read(): Promise<string | null>;
  /** `expiresAt` is an ISO instant. */
  keep(token: string, expiresAt: string): Promise<void>;
}

/** As the interface's section 2 has it. */
export interface FileItem {
  /** What `path` takes to look into it or read it. */
  id: string;
  name: string;
  kind: "file" | "folder";
  mimeType: string | null;
  size: number | null;
  modifiedAt: string | null;
}

export interface FilePage {
  items: FileItem[];
  /** Absent at the end. */
  nextPageToken?: string;
}

/** A provider that holds files. Paths use `/`, start with `/`, and never leave the root. */
export interface Files {
  /** Folders first, then files, by name, at most 1,000. Throws `not_found`. */
  list(link: Link, path: string, pageToken?: string): Promise<FilePage>;
  /** What lies at `path`; throws `not_found`. */
  stat(link: Link, path: string): Promise<FileItem>;
  read(link: Link, path: string): Promise<ReadableStream<Uint8Array>>;
  /** Writes whole or not at all: a reader never sees half of it. */
  write?(link: Link, path: string, bytes: ReadableStream<Uint8Array>, maxBytes: number): Promise<FileItem>;
}

/** A provider whose data has tables. */
export interface Tables {
  tables(link: Link, includeSystem: boolean): Promise<{ schema: string; table: string; spec: string }[]>;
  /** In ordinal order; `dataType` is the source's own name of the type. Throws `not_found`. */
  columns(link: Link, schema: string, table: string): Promise<Column[]>;
}

/** How HTTP requests are made in the name of a connection. */
export interface HttpAccess {
  /** Where its paths begin; credentials go to no other origin. */
  baseUrl(link: Link): string;
  /**
   * What carries the credentials. Throws `upstream` where they can't be had. `isFresh` asks for a token that was
   * not kept from before.
   */
  authorize(link: Link, options?: { isFresh?: boolean }): Promise<Grant>;
}

export interface Grant {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** Texts that are told nobody, wherever they come back from the other side. */
  secrets: readonly string[];
  /** True where a 401 may be due to a token that was kept and has ended meanwhile. */
  isRenewable?: boolean;
}

/** What a `dlt_extract` asks of one resource. */
export interface ExtractRequest {
  /** The table, the API resource, or a glob of files: what the definition calls `spec`, else `name`. */
  spec: string;
  /** Only these columns; null for all. */
  columns: readonly string[] | null;
  /** A condition in the source's own SQL with `$1` … for the parameters; null for none. Only SQL sources take it. */
  where: { sql: string; parameters: Json[] } | null;
  /** Rows whose `field` is at or after `from` and before `to`; null leaves that end open. */
  range: { field: string; from: Json; to: Json } | null;
  /**
   * About as many rows as the caller wants at most; a source may give more. Null for all. With `range`, a
   * source that leaves rows out leaves out those with the greatest values of its field.
   */
  maxRows: number | null;
  /** Rows for each page or fetch, where the source lets one choose. */
  batchSize: number | null;
}

/** What a source gives, in the form that costs it least. The caller filters, dedupes and types. */
export type Extraction =
  | {
      kind: "csv";
      /** Columns in order, with DuckDB types. The text has no header; NULL is an unquoted empty field, empty text is `""`; a row ends with a line feed. */
      columns: Column[];
      bytes: AsyncIterable<Uint8Array>;
      /** True where the source has already applied `range`. */
      ranged: boolean;
    }
  | {
      kind: "rows";
      pages: AsyncIterable<JsonObject[]>;
      ranged: boolean;
      /** The source's own count of what it will give, where it has one. */
      total?: number;
    }
  | {
      kind: "files";
      /** In order of name. */
      files: AsyncIterable<{
        name: string;
        format: "csv" | "json" | "jsonl" | "parquet";
        open(): Promise<ReadableStream<Uint8Array>>;
      }>;
      ranged: false;
    };

/** One kind of outside system. To add one: its file, and one line in `registry.ts`. */
export interface Provider {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly config: TSchema;
  readonly credentials: TSchema;
  /** Config fields that say where the credentials are sent; changing one asks for the credentials again. */
  readonly destination: readonly string[];
  /** One real call. Throws `upstream` (or `egress_blocked`) with a sentence that tells what is wrong. */
  verify(link: Link): Promise<void>;
  readonly files?: Files;
  readonly tables?: Tables;
  readonly http?: HttpAccess;
  /** Throws `not_found` for a resource that is not there, `upstream` for the rest. */
  extract?(link: Link, request: ExtractRequest): Promise<Extraction>;
}

export type Providers = ReadonlyMap<string, Provider>;

interface TypedProvider<C extends TSchema, K extends TSchema>
  extends Omit<Provider, "config" | "credentials" | "verify" | "files" | "tables" | "http" | "extract"> {
  config: C;
  credentials: K;
  verify(link: Link<Static<C>, Static<K>>): Promise<void>;
  files?: Retyped<Files, Link<Static<C>, Static<K>>>;
  tables?: Retyped<Tables, Link<Static<C>, Static<K>>>;
  http?: Retyped<HttpAccess, Link<Static<C>, Static<K>>>;
  extract?(link: Link<Static<C>, Static<K>>, request: ExtractRequest): Promise<Extraction>;
}

type Retyped<T, L> = {
  [K in keyof T]: T[K] extends ((link: Link, ...rest: infer R) => infer O) | undefined
    ? (link: L, ...rest: R) => O
    : never;
};

/** Lets a provider's file state its schemas once and have its functions typed from them. */
export const defineProvider = <C extends TSchema, K extends TSchema>(
  provider: TypedProvider<C, K>,
): Provider => provider as unknown as Provider;
