import { AppError } from "../../base/errors.ts";

/** One element of a response: its own text and its children. Attributes and prefixes are ignored. */
export interface Element {
  name: string;
  text: string;
  children: Element[];
}

/** S3's responses are three levels deep. */
const MAX_DEPTH = 16;

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * The root element of an S3 response. Document types are refused, so no entity is ever defined or fetched.
 * Throws `upstream` for text that isn't XML.
 */
export function readXml(text: string): Element {
  const token =
    /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<(\/?)([^\s<>/!?]+)[^<>]*?(\/?)>|([^<]+)/y;
  const top: Element = { name: "", text: "", children: [] };
  const open: Element[] = [top];
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  while (at < text.length) {
    token.lastIndex = at;
    const match = token.exec(text);
    const here = open.at(-1);
    if (!match || !here) throw unreadable();
    at = token.lastIndex;
    const [, cdata, closing, tag, empty, plain] = match;
    if (cdata !== undefined) here.text += cdata;
    else if (plain !== undefined) here.text += decodeEntities(plain);
    else if (tag === undefined)
      continue; // comment or processing instruction
    else if (closing) {
      if (open.length === 1 || here.name !== localName(tag)) throw unreadable();
      open.pop();
    } else {
      const element: Element = { name: localName(tag), text: "", children: [] };
      here.children.push(element);
      if (!empty) open.push(element);
      if (open.length > MAX_DEPTH) throw unreadable();
    }
  }
  const [root] = top.children;
  if (!root || top.children.length > 1 || open.length > 1) throw unreadable();
  return root;
}

const localName = (tag: string) => tag.slice(tag.indexOf(":") + 1);

const decodeEntities = (text: string): string =>
  text.includes("&")
    ? text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-z]+));/g, (_, hex, decimal, name) => {
        if (name) {
          const character = NAMED[name];
          if (character === undefined) throw unreadable();
          return character;
        }
        const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
        if (code > 0x10ffff) throw unreadable();
        return String.fromCodePoint(code);
      })
    : text;

const unreadable = () => new AppError("upstream", "The object store's response is not S3's XML.");

/** The text of the first child with this name, or null. */
export const textOf = (element: Element, name: string): string | null =>
  element.children.find((child) => child.name === name)?.text ?? null;

export const childrenOf = (element: Element, name: string): Element[] =>
  element.children.filter((child) => child.name === name);
