import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";

/** Shown wherever agents are used, before anyone writes a message. */
export function NoModel() {
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  if (meta.data?.limits.model !== null) return null;
  return (
    <p className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn" role="status">
      {t(
        "No language model is configured. Ask your server's operator to set WEIR_LLM_BASE_URL and WEIR_LLM_MODEL, or ANTHROPIC_API_KEY, and restart the server.",
      )}
    </p>
  );
}
