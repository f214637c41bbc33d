import { Type } from "@sinclair/typebox";
import { described, named } from "../../base/shape.ts";

/** The tags of a body: words to find things by. */
export const Tags = described(
  "Labels to group and filter by. Duplicates are removed",
  Type.Array(named(50), { maxItems: 20 }),
);

/** A tag that a list is filtered by. */
export const tagQuery = () =>
  described("Only items with this tag", Type.String({ minLength: 1, maxLength: 50 }));
