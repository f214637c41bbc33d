import { t } from "../../texts/text.ts";

/** The arrowhead of an edge, in the edge's color. */
export const Arrow = () => (
  <svg className="absolute size-0" aria-hidden="true">
    <title>{t("Arrow")}</title>
    <defs>
      <marker
        id="step-arrow"
        viewBox="0 0 8 8"
        refX="4"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        orient="auto"
        markerUnits="userSpaceOnUse"
      >
        <path
          d="M1 1.5 5.5 4 1 6.5"
          fill="none"
          stroke="context-stroke"
          strokeWidth="1.5"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </marker>
    </defs>
  </svg>
);
