import { createElement, Fragment, type ReactNode } from "react";
import { type NameIn, textOf } from "./text.ts";

/** Elements by their placeholders; one that has a text of its own, `<link>here</link>`, is made of that. */
type Element = ReactNode | ((inner: string) => ReactNode);

/** The names of the elements that have a text of their own. */
type TagIn<S extends string> = S extends `${string}</${infer Name}>${infer Rest}`
  ? Name | TagIn<Rest>
  : never;

const PART = /\{(\w+)\}|<(\w+)>(.*?)<\/\2>/g;

/**
 * A sentence with elements in it, in the page's language: `rich("See <link>the manual</link>.", { link: (text) => <a …>{text}</a> })`,
 * `rich("Enter {name} to confirm", { name: <b>{name}</b> })`. Its elements may stand elsewhere in another language.
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
