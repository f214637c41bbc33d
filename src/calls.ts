/**
 * Every operation as Weir's own clients, the page and the command line, call it:
 * only types, derived from the operations.
 */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Defaulted } from "./base/shape.ts";
import type { Served } from "./server.ts";

/** Every operation by method and path. A wrong one, or a field that it doesn't have, is a type error. */
type Calls = { [Each in Served as Each["key"]]: Each };

/** Input for a shape. Fields with a default can be omitted. */
type Sent<T extends TSchema> =
  T extends TObject<infer P>
    ? Omit<Static<T>, DefaultsOf<P>> & Partial<Pick<Static<T>, DefaultsOf<P> & keyof Static<T>>>
    : Static<T>;
type DefaultsOf<P> = { [K in keyof P]: P[K] extends Defaulted<TSchema> ? K : never }[keyof P];

export type Call = keyof Calls;
export type Reply<K extends Call> = Static<Calls[K]["reply"]>;

type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;
type WithPath<K extends Call> = [PathNames<K>] extends [never]
  ? unknown
  : { path: Record<PathNames<K>, string> };
type WithQuery<K extends Call> = { query?: Partial<Static<Calls[K]["query"]>> };
type WithBody<K extends Call> =
  undefined extends Static<Calls[K]["body"]> ? unknown : { body: Sent<Calls[K]["body"]> };

/** Input of a call: its path parameters, query and body. */
export type CallInput<K extends Call> = WithPath<K> & WithQuery<K> & WithBody<K>;
