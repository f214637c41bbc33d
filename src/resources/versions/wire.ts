import { type Static, Type } from "@sinclair/typebox";
import { instant, jsonObject, nullable, object, offsetQuery } from "../../base/shape.ts";
import { maskTyped } from "../../base/typed-secrets.ts";
import { People } from "../users/wire.ts";
import type { VersionRow } from "./table.ts";

export const VersionQuery = object(offsetQuery(50));

const Version = object({
  version: Type.Integer(),
  changes: Type.Array(
    jsonObject({ description: "Changes since the previous version, as {field, from, to}" }),
  ),
  createdAt: instant(),
  createdBy: nullable(Type.String()),
});

export const VersionPage = object({
  versions: Type.Array(Version),
  hasNext: Type.Boolean(),
  limit: Type.Integer(),
  offset: Type.Integer(),
  total: Type.Integer(),
  users: People,
});

export const WholeVersion = object({
  ...Version.properties,
  content: jsonObject({ description: "Content of this version" }),
});

/** As in a path. */
export const VersionNumber = Type.String({ pattern: "^[1-9][0-9]{0,8}$", description: "A version's number" });

export const toVersion = ({
  version,
  changes,
  createdAt,
  createdBy,
}: VersionRow): Static<typeof Version> => ({
  version,
  changes,
  createdAt,
  createdBy,
});

export const toWholeVersion = (row: VersionRow): Static<typeof WholeVersion> => ({
  ...toVersion(row),
  content: maskTyped(row.content),
});
