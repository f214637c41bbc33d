import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { known } from "../../texts/text.ts";

const CALL = "GET /api/v1/action-kinds";

const translated = ({ kinds }: Reply<typeof CALL>): Reply<typeof CALL> => ({
  kinds: kinds.map((kind) => ({ ...kind, title: known(kind.title), description: known(kind.description) })),
});

/** The kinds of actions, with their titles and descriptions in the page's language. */
export const useActionKinds = () => useApi(CALL, {}, { isFixed: true, select: translated });
