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
import type { NamedResource, SourceSql, Tables, TableWrites } from "./contract-tables.ts";

/** One opened connection: what a provider gets to work with. */
export interface Link<Config = JsonObject, Credentials = Record<string, string>> {
  connectionId: string;
  config: Config;
  credentials: Credentials;
  /** The only way out. */
  egress: Egress;
  /** What providers keep in memory, over all runs of the process. */
  memory: Memory;
  clock: Clock;
  signal: AbortSignal;
  /** Does what may take long in a child, as `Compute` has it; absent where nobody waits meanwhile. */
  compute?(job: ComputeJob): Promise<Computed>;
  /** The organization's own `files/` folder, absolute. */
  filesFolder: string;
  /** Where a token that the credentials were changed for is kept until it expires; absent where nothing is kept. */
  tokens?: TokenStore;
  /** The token of the person who has signed in for the connection; absent where its credentials need nobody. */
  signIn?: SignInTokens;
  /** Where slow limits of the other side are kept over restarts; absent where nothing is kept. */
  quotas?: QuotaStore;
  /** What the provider remembers from one run to the next; absent where nothing is kept. */
  state?: ProviderState;
  /** Tells people which way the work goes; absent where nobody listens. */
  note?(text: string): void;
  /**
   * Does a longer wait for the other side's limits, during which the work takes nobody's slot; absent where there are
   * no slots.
   */
  rest?(wait: () => Promise<void>): Promise<void>;
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
  /** Hears why the other side gives none for these credentials any more; absent where who asks tells of it. */
  refused?(why: AppError): Promise<void>;
}

/** How full one bucket of an API's limits was. */
export interface StoredQuota {
  /** Within the connection. */
  name: string;
  tokens: number;
  /** When that was right, an ISO instant. */
  at: string;
  /** Until when the other side wants no request, an ISO instant. */
  heldUntil: string | null;
}

export interface QuotaStore {
  read(): Promise<StoredQuota[]>;
  keep(quota: StoredQuota): Promise<void>;
}

/** Texts by name, for as long as config and credentials stay as they are. */
export interface ProviderState {
  read(name: string): Promise<string | null>;
  /** Null forgets it. */
  keep(name: string, value: string | null): Promise<void>;
}

/** One entry of a folder of a connection, as the API shows it. */
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

/** One file below a folder, and what tells whether it is still the same. */
export interface TreeFile {
  /** What the provider itself knows it by. */
  id: string;
  /** Below the folder that was walked, with `/` between names and none before; hostile or not, as it is there. */
  path: string;
  /** Null where it is known only once the file has been read. */
  size: number | null;
  modifiedAt: string | null;
  /** Another one whenever the bytes are others. */
  version: string;
  /** Files of one size and one hash have the same bytes, wherever they lie; null where nothing like it is known. */
  hash: string | null;
}

/** A file's bytes as they are stored, and what says how to read them. */
export interface Opened {
  /** A small file may come whole. */
  bytes: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>;
  contentType?: string | null;
  contentEncoding?: string | null;
}

/** What a file that was written is known by; as `walk` tells it from then on. */
export interface Stamp {
  version: string;
  size: number;
}

/** Whole folders, as a sync reads and writes them: with as few requests as there can be. */
export interface Tree<L = Link> {
  /** Names the root, with `/` at its end: two links whose trees lie in each other have homes that begin alike. */
  home(link: L): string;
  /**
   * All files below `path`, in no order; folders are not told. With `only` just those that are, or lie in, what these
   * paths or ids name; `missing` hears of one that is not there. Throws `not_found`.
   */
  walk(
    link: L,
    path: string,
    only?: { items: readonly string[]; missing(item: string): void },
  ): AsyncIterable<TreeFile>;
  /** The file as it is now; null where it is no more. */
  stat(link: L, file: TreeFile): Promise<TreeFile | null>;
  /** The bytes of this very version. Throws `upstream` (retryable), also in the stream, where the file is another by now. */
  open(link: L, file: TreeFile): Promise<Opened>;
  /** Absent where files can only be read. */
  readonly writes?: TreeWrites<L>;
}

interface TreeWrites<L = Link> {
  /** True where no two names may differ by case alone, and no file may bear the name of a folder. */
  readonly isFolderLike: boolean;
  /** Why nothing can be written with this config, as a sentence; null where it can. */
  refusal?(config: JsonObject): string | null;
  /** Why no file can lie at this path of the connection, as a clause; null where one can. */
  fault(link: L, path: string): string | null;
  /** Writes whole or not at all. `size` is what has to come; null where nobody knows. */
  put(link: L, path: string, file: Opened, size: number | null): Promise<Stamp>;
  /** Has the other side copy by itself; null where it can't, and the bytes have to go through here. */
  copy?(from: L, file: TreeFile, to: L, path: string): Promise<Stamp | null>;
  /** What is gone already is no error. */
  remove(link: L, path: string): Promise<void>;
}

/** How HTTP requests are made in the name of a connection. */
export interface HttpAccess {
  /** Maximum number of requests of a connection, across all of its runs. */
  readonly requestsPerMinute?: number;
  /** Where its paths begin; credentials go to no other origin. */
  baseUrl(link: Link): string;
  /**
   * What carries the credentials. Throws `upstream` where they can't be had. `isFresh` asks for a token that was
   * not kept from before.
   */
  authorize(link: Link, options?: { isFresh?: boolean }): Promise<Grant>;
}

/** Mails sent in the name of a connection. */
interface MailAccess {
  /** Throws `upstream` where the server takes the mail for nobody, and `timeout`. */
  send(link: Link, letter: Letter): Promise<Sent>;
}

export interface Grant {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** A segment that carries credentials, with its slash, and the path of the base address that it follows. */
  path?: { base: string; segment: string };
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
  /** Types that the definition fixes, by the source's name of the column; DuckDB's names of them. */
  types?: ReadonlyMap<string, string>;
  /** A condition with `$1` … for the parameters; null for none. SQL sources take it in their own SQL; over files it is the caller's. */
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
  /** What the files of `spec` are; their names tell where absent. */
  format?: FileFormat;
  /** The columns of a table that rows are found again by; absent where nobody looks for them. */
  keyOf?(columns: readonly string[]): string[];
  /** Columns whose values in all rows are asked for besides, to find out which rows are gone. */
  keys?: readonly string[];
  /** How the path in `spec` is asked for, as `http-endpoint` has it; only HTTP APIs of a template take it. */
  endpoint?: JsonObject;
}

/** Objects of a list, one after the other with commas between them, in a text of UTF-8. Nobody has read what is in them. */
export interface JsonList {
  bytes: Uint8Array;
  /** Where what stands in the list begins. */
  from: number;
  /** Of the bracket that closes it. */
  to: number;
  rows: number;
}

/** Formats of files that an extract reads. */
export const FILE_FORMATS = ["csv", "tsv", "json", "jsonl", "parquet", "avro", "xlsx"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** A column of CSV text that a source sends. */
export interface CsvColumn extends Column {
  /**
   * How the text is read, where DuckDB's own reading of `dataType` would not do: `number` is the digits of a number of any
   * length, whose type all values decide (`dataType` is VARCHAR); `hex` is a BLOB; `list` is a JSON list of `dataType`'s
   * elements, which stays JSON where one of the values is no such list; `digits` is a number that stays the text that it is.
   */
  text?: "number" | "hex" | "list" | "digits";
}

/** Texts that stand for values which the source takes for equal though they are written otherwise. */
export interface KeyField {
  /** The key's columns in which the source takes different texts for equal. */
  columns: readonly string[];
  /** What each text begins with; it is another one once the source compares otherwise. */
  tag: string;
  /** The texts for values that `columns` had once, list by list. */
  of(rows: AsyncIterable<readonly (string | null)[][]>): AsyncGenerator<string[]>;
}

/** What a source gives, in the form that costs it least. The caller filters, dedupes and types. */
export type Extraction =
  | {
      kind: "csv";
      /** Columns in order, with DuckDB types. The text has no header; NULL is an unquoted empty field, empty text is `""`; a row ends with a line feed. */
      columns: CsvColumn[];
      bytes: AsyncIterable<Uint8Array>;
      /** Values that became NULL on the way; complete once all bytes were read. */
      odd?: OddValues;
      /** Each record has one more field behind the columns: the text that stands for `key.columns`. */
      key?: KeyField;
      /**
       * Gives each record one more field behind all others, unquoted and empty where all values went over. Otherwise it
       * is a JSON object of the odd values' texts by the column's name; the causes are here, by the column's name.
       */
      oddField?: ReadonlyMap<string, string>;
      /** True where the source has already applied `range`. */
      ranged: boolean;
      /**
       * The request's `keys` in all rows that `where` lets through, whatever the range, as the snapshot of the rows has
       * them; to be asked for once all bytes were read. Absent where nobody asked.
       */
      keys?(): Promise<Extraction & { kind: "csv" }>;
      /** Ends what is held for `keys`; whoever asked for them calls it. */
      close?(): Promise<void>;
    }
  | {
      kind: "rows";
      pages: AsyncIterable<JsonObject[]>;
      /** The pages, to be read in their place, for those who can do with the rows' text; absent where there is none. */
      texts?: AsyncIterable<JsonObject[] | JsonList>;
      ranged: boolean;
      /** The source's own count of what it gives, where it has one; right once all pages were read. */
      total?: number;
      /** Values that did not arrive as they are; complete once all pages were read. */
      odd?: OddValues;
    }
  | {
      kind: "files";
      /** In order of name. */
      files: AsyncIterable<{
        name: string;
        format: FileFormat;
        open(): Promise<ReadableStream<Uint8Array>>;
      }>;
      ranged: false;
    };

/** Extracts one resource after the other, over a connection that it keeps meanwhile. */
export interface Extractor {
  /** As `Provider.extract`. The one before has been read to its end, or given up. */
  extract(link: Link, request: ExtractRequest): Promise<Extraction>;
  close(): Promise<void>;
}

/** One kind of outside system. To add one: its file, and one line in `registry.ts`. */
export interface Provider {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly config: TSchema;
  readonly credentials: TSchema;
  /** Config fields that say where the credentials are sent; changing one asks for the credentials again. */
  readonly destination: readonly string[];
  /** A config field that says how the credentials are guarded on their way, its values from the weakest to the strongest; a weaker one asks for them again. */
  readonly guard?: { field: string; levels: readonly string[] };
  /** True where its data lies in this machine's data directory, which other processes on the store may not see. */
  readonly isLocal?: boolean;
  /** What the credentials lack although each of them is right; null where they do. */
  lacks?(
    credentials: Readonly<Record<string, string>>,
    config: JsonObject,
  ): { field: string; message: string } | null;
  /** How a person signs in for a connection with these settings; null where its credentials do without. */
  signIn?(settings: Pick<Link, "config" | "credentials">): SignInTerms | null;
  /** One real call. Throws `upstream` (or `egress_blocked`) with a sentence that tells what is wrong. */
  verify(link: Link): Promise<void>;
  readonly files?: Files;
  /** Where files can be synced from, and with its `writes` to. */
  readonly tree?: Tree;
  readonly tables?: Tables;
  /** What extracts may name in the place of a path; without `config` paths have their templates still. Throws `template_error`. */
  resources?(config: JsonObject | null): NamedResource[];
  readonly http?: HttpAccess;
  readonly mail?: MailAccess;
  /** Throws `not_found` for a resource that is not there, `upstream` for the rest. */
  extract?(link: Link, request: ExtractRequest): Promise<Extraction>;
  /** Absent where `extract` has nothing to keep. */
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

/** Lets a provider's file state its schemas once and have its functions typed from them. */
export const defineProvider = <C extends TSchema, K extends TSchema>(
  provider: TypedProvider<C, K>,
): Provider => provider as unknown as Provider;
