import { createElement, Fragment, type ReactNode } from "react";
import { type NameIn, textOf } from "./text.ts";

/** Elements by placeholder. One with text, such as `<link>here</link>`, is a function of that text. */
type Element = ReactNode | ((inner: string) => ReactNode);

/** Names of the elements with text. */
type TagIn<S extends string> = S extends `${string}</${infer Name}>${infer Rest}`
  ? Name | TagIn<Rest>
  : never;

const PART = /\{(\w+)\}|<(\w+)>(.*?)<\/\2>/g;

/**
 * A sentence with elements, in the page's language: `rich("See <link>the manual</link>.", { link: (text) => <a
 * …>{text}</a> })`, `rich("Enter {name} to confirm", { name: <b>{name}</b> })`. Translations can reorder its elements.
 */
export function rich<const S extends string>(
  english: S,
  elements: Readonly<Record<NameIn<S> | TagIn<S>, Element>>,
): ReactNode {
  const byName: Readonly<Record<string, Element>> = elements;
  const text = textOf(english);
  const parts: ReactNode[] = [];
  let from = 0;
  for (const found of text.matchAll(PART)) {
    const [whole, plain, around = "", inner = ""] = found;
    const element = byName[plain ?? around];
    parts.push(
      text.slice(from, found.index),
      typeof element === "function" ? element(inner) : element === undefined ? whole : element,
    );
    from = found.index + whole.length;
  }
  return createElement(Fragment, null, ...parts, text.slice(from));
}
