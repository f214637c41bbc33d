import { Type } from "@sinclair/typebox";
import { described } from "../../base/shape.ts";
import { TAG_PATTERN } from "../../base/value-faults.ts";

/** The tags in a body. */
export const Tags = described(
  "Labels to group and filter by. One that begins with `/`, such as /finance/eu, is a folder. Duplicates are removed",
  Type.Array(Type.String({ minLength: 1, maxLength: 50, pattern: TAG_PATTERN }), { maxItems: 20 }),
);

/** A tag to filter a list by. */
export const tagQuery = () =>
  described("Only items with this tag", Type.String({ minLength: 1, maxLength: 50 }));

/** A folder to filter a list by. */
export const folderQuery = () =>
  described(
    "Only items in this folder or in folders below it, such as /finance",
    Type.String({ minLength: 2, maxLength: 50, pattern: "^/" }),
  );
