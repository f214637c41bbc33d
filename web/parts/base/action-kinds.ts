import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { translatedSchema } from "../../texts/schema.ts";
import { known, language } from "../../texts/text.ts";

const CALL = "GET /api/v1/action-kinds";
type Kinds = Reply<typeof CALL>;

const translated = ({ kinds }: Kinds): Kinds => ({
  kinds: kinds.map((kind) => ({
    ...kind,
    title: known(kind.title),
    description: known(kind.description),
    definitionSchema: translatedSchema(kind.definitionSchema, known) as typeof kind.definitionSchema,
  })),
});

/** The kinds of actions and their fields, in the page's language. */
export const useActionKinds = () =>
  useApi(CALL, {}, { isFixed: true, ...(language() === "en" ? {} : { select: translated }) });
