import type { TObject, TSchema } from "@sinclair/typebox";

/** An operation as the document describes it. */
export interface Described {
  readonly method: string;
  readonly path: string;
  readonly audience: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  readonly bodyOptional?: boolean;
  readonly headers?: readonly string[];
  readonly guards?: string;
  readonly oauth?: boolean;
  readonly consumes?: string;
  readonly response?: TSchema;
  readonly produces?: string;
  readonly alsoProduces?: readonly string[];
  readonly status?: number;
  readonly idempotent?: boolean | string;
  readonly personal?: boolean;
  readonly byPeople?: boolean;
  readonly limited?: "address";
  /** Changes a resource with its own URL: it accepts `If-Match`. */
  readonly matches?: boolean;
  /** Reads such a resource: its response has an `ETag`, and it accepts `If-None-Match`. */
  readonly tagged?: boolean;
  readonly errors?: readonly number[];
  readonly replies?: Readonly<Record<number, { description: string; body?: TSchema; example?: unknown }>>;
  readonly example?: unknown;
  readonly bodyExample?: unknown;
}
