import type { Static, TSchema } from "@sinclair/typebox";

/** What a shape of the server is here: instants are text, JSON is `unknown` until it is looked at. */
export type Of<T extends TSchema> = Static<T>;
/** Fields with a default may be left out of a request. */
export type Asked<T extends TSchema> = Partial<Of<T>>;
export type Nothing = null;
export interface CursorQuery {
  limit?: number;
  cursor?: string;
}

export interface ActionKindInfo {
  kind: string;
  title: string;
  description: string;
  definitionSchema: Schema;
  resultSchema: Schema;
  providers: string[];
}

/** A JSON Schema as the server describes its inputs with one. */
export interface Schema {
  readonly [keyword: string]: unknown;
}
