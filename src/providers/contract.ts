import type { Static, TSchema } from "@sinclair/typebox";
import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import type { AppError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { Memory } from "../base/memory.ts";
import type { OddValues } from "../base/odd-values.ts";
import type { Computed, ComputeJob } from "../compute/contract.ts";
import type { Letter, Sent } from "../mail/contract.ts";
import type { SignInTerms, SignInTokens } from "../oauth/contract.ts";
import type { Column } from "../sql/contract.ts";
import type { FileRoom } from "./contract-room.ts";
import type { NamedResource, SourceSql, Tables, TableWrites } from "./contract-tables.ts";
import type { Tree } from "./contract-tree.ts";

/** An open connection, as a provider receives it. */
export interface Link<Config = JsonObject, Credentials = Record<string, string>> {
  connectionId: string;
  config: Config;
  credentials: Credentials;
  /** The only access to the network. */
  egress: Egress;
  /** Memory that providers share across all runs of the process. */
  memory: Memory;
  clock: Clock;
  signal: AbortSignal;
  /** Runs long computations in a child process. Absent if nothing else has to stay responsive. */
  compute?(job: ComputeJob): Promise<Computed>;
  /** The organization's own `files/` folder, absolute. */
  filesFolder: string;
  /** Opens room for one more file in that folder. Null without a quota. Throws `quota_exceeded` if it is full. */
  openRoom?(): Promise<FileRoom | null>;
  /** Stores the token that the credentials were exchanged for until it expires. Absent if nothing is stored. */
  tokens?: TokenStore;
  /** Token of the user who signed in for the connection. Absent if its credentials need no sign-in. */
  signIn?: SignInTokens;
  /** Stores slow rate limits across restarts. Absent if nothing is stored. */
  quotas?: QuotaStore;
  /** State that the provider keeps from one run to the next. Absent if nothing is stored. */
  state?: ProviderState;
  /** Reports the progress of the work. Absent if nobody follows it. */
  note?(text: string): void;
  /** Waits longer for a rate limit, and gives up the slot in the meantime. Absent without slots. */
  rest?(wait: () => Promise<void>): Promise<void>;
  /** Reports a warning. With `isPartial`, rows of the source weren't read. Absent if nobody follows the work. */
  warn?(text: string, loss?: { isPartial: boolean }): void;
  /** Reports until when the work waits for a rate limit, as ISO 8601. Null when it continues. */
  waits?(until: string | null): void;
}

/** One short-lived token of a connection, valid until config or credentials change. */
export interface TokenStore {
  /** Null if there is none, or it has expired. */
  read(): Promise<string | null>;
  /** `expiresAt` is ISO 8601. */
  keep(token: string, expiresAt: string): Promise<void>;
  /** Called with the reason if these credentials no longer get a token. Absent if the caller reports it. */
  refused?(why: AppError): Promise<void>;
}

/** Level of one bucket of an API's rate limits. */
export interface StoredQuota {
  /** Within the connection. */
  name: string;
  tokens: number;
  /** Time of the level, as ISO 8601. */
  at: string;
  /** Time until which the external system wants no requests, as ISO 8601. */
  heldUntil: string | null;
}

export interface QuotaStore {
  read(): Promise<StoredQuota[]>;
  keep(quota: StoredQuota): Promise<void>;
}

/** Strings by name, kept until config or credentials change. */
export interface ProviderState {
  read(name: string): Promise<string | null>;
  /** Null deletes it. */
  keep(name: string, value: string | null): Promise<void>;
}

/** One entry of a folder of a connection, as the API shows it. */
export interface FileItem {
  /** Value of `path` that lists or reads it. */
  id: string;
  name: string;
  kind: "file" | "folder";
  mimeType: string | null;
  size: number | null;
  modifiedAt: string | null;
}

export interface FilePage {
  items: FileItem[];
  /** Absent on the last page. */
  nextPageToken?: string;
}

/** A provider that holds files. Paths use `/`, start with `/`, and never leave the root. */
export interface Files {
  /** Folders first, then files, by name, at most 1,000. Throws `not_found`. */
  list(link: Link, path: string, pageToken?: string): Promise<FilePage>;
  /** Returns the entry at `path`. Throws `not_found`. */
  stat(link: Link, path: string): Promise<FileItem>;
  read(link: Link, path: string): Promise<ReadableStream<Uint8Array>>;
  /** Writes all or nothing: a reader never sees part of it. */
  write?(link: Link, path: string, bytes: ReadableStream<Uint8Array>, maxBytes: number): Promise<FileItem>;
}

/** HTTP requests with a connection's credentials. */
export interface HttpAccess {
  /** Maximum number of requests of a connection, across all of its runs. */
  readonly requestsPerMinute?: number;
  /** Base of its paths. Credentials are sent to no other origin. */
  baseUrl(link: Link): string;
  /** Headers with the credentials. `isFresh` requests a token that wasn't stored. Throws `upstream`. */
  authorize(link: Link, options?: { isFresh?: boolean }): Promise<Grant>;
}

/** Mail sent with a connection. */
interface MailAccess {
  /** Throws `upstream` if the server accepts the mail for no recipient, and `timeout`. */
  send(link: Link, letter: Letter): Promise<Sent>;
}

export interface Grant {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** A path segment with credentials, including its slash, and the base path that it follows. */
  path?: { base: string; segment: string };
  /** Strings to mask in every response. */
  secrets: readonly string[];
  /** True if a 401 can mean that a stored token has expired. */
  isRenewable?: boolean;
}

/** Request of a `dlt_extract` for one resource. */
export interface ExtractRequest {
  /** Table, API resource or file pattern: `spec` of the definition, otherwise `name`. */
  spec: string;
  /** Columns to read. Null for all. */
  columns: readonly string[] | null;
  /** Types set in the definition, as DuckDB type names by source column. */
  types?: ReadonlyMap<string, string>;
  /** A condition with `$1` … for parameters, or null. SQL sources apply it; for files, the caller does. */
  where: { sql: string; parameters: Json[] } | null;
  /** Rows with `field` at or after `from` and before `to`. Null leaves that end open. */
  range: { field: string; from: Json; to: Json } | null;
  /** Approximate maximum number of rows, or null. With `range`, rows with the greatest values are left out. */
  maxRows: number | null;
  /** Rows per page or fetch, if the source has a choice. */
  batchSize: number | null;
  /** Format of the files of `spec`. Determined by their names if absent. */
  format?: FileFormat;
  /** Columns that identify a row. Absent if rows aren't looked up. */
  keyOf?(columns: readonly string[]): string[];
  /** Columns whose values in all rows are needed, to find deleted rows. With a range, they are read in addition. */
  keys?: readonly string[];
  /** How to request the path in `spec`. Only for HTTP APIs of a template. */
  endpoint?: JsonObject;
}

/** Objects of a JSON list with commas between them, as UTF-8. Their content hasn't been parsed. */
export interface JsonList {
  bytes: Uint8Array;
  /** Start of the list's content. */
  from: number;
  /** Position of the closing bracket. */
  to: number;
  rows: number;
}

/** Formats of files that an extract reads. */
export const FILE_FORMATS = ["csv", "tsv", "json", "jsonl", "parquet", "avro", "xlsx"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** A column of CSV text that a source sends. */
export interface CsvColumn extends Column {
  /**
   * How to read the text if DuckDB's own parser for `dataType` isn't enough. `number`: digits of a number of any
   * length, typed by all values together (`dataType` is VARCHAR). `hex`: a BLOB. `list`: a JSON list of `dataType`
   * elements; the column stays JSON if any value isn't one. `digits`: a number that stays text.
   */
  text?: "number" | "hex" | "list" | "digits";
}

/** Texts for values that the source considers equal although their bytes differ. */
export interface KeyField {
  /** Key columns in which the source considers different texts equal. */
  columns: readonly string[];
  /** Prefix of each text. It changes if the source's comparison changes. */
  tag: string;
  /** Texts for former values of `columns`, list by list. */
  of(rows: AsyncIterable<readonly (string | null)[][]>): AsyncGenerator<string[]>;
}

/** Data of a source, in the form that is cheapest for it. The caller filters, deduplicates and types it. */
export type Extraction =
  | {
      kind: "csv";
      /**
       * Columns in order, with DuckDB types. The text has no header; NULL is an unquoted empty field, an empty string
       * is `""`; a row ends with a line feed.
       */
      columns: CsvColumn[];
      bytes: AsyncIterable<Uint8Array>;
      /** Values that were replaced by NULL. Complete once all bytes have been read. */
      odd?: OddValues;
      /** Each record has one more field after the columns: the text for `key.columns`. */
      key?: KeyField;
      /**
       * Appends one unquoted field to each record, empty if all its values arrived unchanged. Otherwise it is a JSON
       * object of the odd values' texts by column; the causes are here, by column.
       */
      oddField?: ReadonlyMap<string, string>;
      /** True if the source has already applied `range`. */
      ranged: boolean;
      /** Number of rows that match `where` and that `range` leaves out because their cursor has no value. */
      leftOut?: number;
      /**
       * The request's `keys` of all rows that match `where`, whatever the range, from the same snapshot as the rows.
       * Call it after all bytes have been read. Absent if not requested, or if the rows have all of them.
       */
      keys?(): Promise<Extraction & { kind: "csv" }>;
      /** Releases what is held for `keys`. Called by the run that requested them. */
      close?(): Promise<void>;
    }
  | {
      kind: "rows";
      pages: AsyncIterable<JsonObject[]>;
      /** The pages as text, instead of `pages`, for callers that don't need them parsed. Absent if not available. */
      texts?: AsyncIterable<JsonObject[] | JsonList>;
      ranged: boolean;
      /** The source's own number of rows, if it has one. Final once all pages have been read. */
      total?: number;
      /** Values that didn't arrive unchanged. Complete once all pages have been read. */
      odd?: OddValues;
    }
  | {
      kind: "files";
      /** Ordered by name. */
      files: AsyncIterable<{
        name: string;
        format: FileFormat;
        open(): Promise<ReadableStream<Uint8Array>>;
      }>;
      ranged: false;
    };

/** Extracts one resource after the other over one connection. */
export interface Extractor {
  /** As `Provider.extract`. The previous resource has been read to its end, or abandoned. */
  extract(link: Link, request: ExtractRequest): Promise<Extraction>;
  close(): Promise<void>;
}

/** A kind of external system. To add one, add its file and a line in `registry.ts`. */
export interface Provider {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly config: TSchema;
  readonly credentials: TSchema;
  /** Config fields that decide where the credentials are sent. Changing one requires the credentials again. */
  readonly destination: readonly string[];
  /** Config field that protects credentials in transit, weakest value first. A weaker one requires them again. */
  readonly guard?: { field: string; levels: readonly string[] };
  /** True if its data is in this machine's data directory, which other processes on the store may not see. */
  readonly isLocal?: boolean;
  /** What is missing from credentials that are valid individually. Null if nothing is. */
  lacks?(
    credentials: Readonly<Record<string, string>>,
    config: JsonObject,
  ): { field: string; message: string } | null;
  /** How a user signs in for a connection with these settings. Null if its credentials suffice. */
  signIn?(settings: Pick<Link, "config" | "credentials">): SignInTerms | null;
  /** Makes one real call. Throws `upstream` (or `egress_blocked`) with a sentence that says what is wrong. */
  verify(link: Link): Promise<void>;
  readonly files?: Files;
  /** Files that can be synced from this provider, and with `writes` to it. */
  readonly tree?: Tree;
  readonly tables?: Tables;
  /** Resources to name instead of a path. Without `config`, paths contain templates. Throws `template_error`. */
  resources?(config: JsonObject | null): NamedResource[];
  readonly http?: HttpAccess;
  readonly mail?: MailAccess;
  /** Throws `not_found` for a missing resource, and `upstream` for other failures. */
  extract?(link: Link, request: ExtractRequest): Promise<Extraction>;
  /** Absent if `extract` has nothing to keep open. */
  extractor?(): Extractor;
}

export type Providers = ReadonlyMap<string, Provider>;

interface TypedProvider<C extends TSchema, K extends TSchema>
  extends Omit<
    Provider,
    | "config"
    | "credentials"
    | "verify"
    | "files"
    | "tree"
    | "tables"
    | "http"
    | "mail"
    | "extract"
    | "extractor"
  > {
  config: C;
  credentials: K;
  verify(link: Link<Static<C>, Static<K>>): Promise<void>;
  files?: Retyped<Files, Link<Static<C>, Static<K>>>;
  tree?: Tree<Link<Static<C>, Static<K>>>;
  tables?: Retyped<Omit<Tables, "sql" | "writes">, Link<Static<C>, Static<K>>> & {
    sql?: Retyped<Pick<SourceSql, "select">, Link<Static<C>, Static<K>>> & Pick<SourceSql, "dialect">;
    writes?: Retyped<TableWrites, Link<Static<C>, Static<K>>>;
  };
  http?: Retyped<HttpAccess, Link<Static<C>, Static<K>>>;
  mail?: Retyped<MailAccess, Link<Static<C>, Static<K>>>;
  extract?(link: Link<Static<C>, Static<K>>, request: ExtractRequest): Promise<Extraction>;
  extractor?(): Retyped<Pick<Extractor, "extract">, Link<Static<C>, Static<K>>> & Pick<Extractor, "close">;
}

type Retyped<T, L> = {
  [K in keyof T]: T[K] extends ((link: Link, ...rest: infer R) => infer O) | undefined
    ? (link: L, ...rest: R) => O
    : never;
};

/** Types a provider's functions from its schemas. */
export const defineProvider = <C extends TSchema, K extends TSchema>(
  provider: TypedProvider<C, K>,
): Provider => provider as unknown as Provider;
