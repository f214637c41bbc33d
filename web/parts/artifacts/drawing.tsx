import { createElement, type ReactNode, useId, useMemo } from "react";
import { t } from "../../texts/text.ts";

/** Allowed elements: shapes and text, nothing that runs, loads or links. */
const TAGS = new Set([
  "svg",
  "g",
  "path",
  "rect",
  "circle",
  "ellipse",
  "line",
  "polyline",
  "polygon",
  "text",
  "tspan",
  "defs",
  "clipPath",
  "linearGradient",
  "radialGradient",
  "stop",
  "title",
  "desc",
]);
const ATTRIBUTES =
  /^(d|x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|dx|dy|width|height|points|transform|viewBox|offset|fill|stroke|opacity|(fill|stroke|stop)-[a-z-]+|font-(family|size|weight|style)|text-anchor|dominant-baseline|clip-path|gradientUnits|gradientTransform|clipPathUnits|role|aria-[a-z-]+)$/;
const LOCAL = /^url\(["']?#([\w-]+)["']?\)$/;
/** Maximum number of elements to draw. */
const MOST_ELEMENTS = 50_000;

/** `stroke-width` → `strokeWidth`, as React names attributes. `aria-…` is unchanged. */
const inReact = (name: string) =>
  name.startsWith("aria-") ? name : name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Renders an SVG document as elements of this page, recreated from what is allowed. */
export function Drawing({ svg, label }: { svg: string; label: string }) {
  const prefix = useId().replace(/\W/g, "");
  const drawn = useMemo(() => {
    const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    const isRead = root.tagName === "svg" && root.querySelector("parsererror") === null;
    return isRead ? copyOf(root, { prefix, left: MOST_ELEMENTS, label }) : null;
  }, [svg, prefix, label]);
  return drawn ?? <p className="text-sm text-soft">{t("Couldn't display this chart.")}</p>;
}

interface Copying {
  prefix: string;
  /** Number of elements that can still be drawn. */
  left: number;
  label: string;
}

function copyOf(element: Element, copying: Copying): ReactNode {
  const isRoot = element.tagName === "svg";
  const props: Record<string, string> = {};
  for (const { name, value } of element.attributes) {
    const local = LOCAL.exec(value)?.[1];
    if (name === "id") props.id = copying.prefix + value;
    else if (!ATTRIBUTES.test(name) || (value.includes("url(") && local === undefined)) continue;
    else props[inReact(name)] = local === undefined ? value : `url(#${copying.prefix}${local})`;
  }
  if (isRoot)
    Object.assign(props, {
      role: "img",
      "aria-label": copying.label,
      className: "h-auto max-w-full max-sm:max-w-[max(100%,44rem)]",
    });
  const children: ReactNode[] = [];
  for (const node of element.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) children.push(node.textContent);
    if (!(node instanceof Element) || !TAGS.has(node.tagName) || node.tagName === "svg") continue;
    if (--copying.left < 0) break;
    children.push(copyOf(node, copying));
  }
  return createElement(element.tagName, props, ...children);
}
