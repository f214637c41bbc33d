import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { Piece, Template } from "./template-grammar.ts";
import { textOf } from "./template-lookup.ts";

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Characters that URL parsers remove: these anywhere, and control characters and spaces at the ends. */
const UNSEEN = /[\t\r\n]|[\0-\x20]+$/g;

/** Backslashes are read as slashes. */
const startOfSegment = (text: string) => Math.max(text.lastIndexOf("/"), text.lastIndexOf("\\")) + 1;

/**
 * Fills in the templates of a URL.
 * Values are percent-encoded, so that each is one path segment or query value and can't select another endpoint.
 *
 * Throws `template_error` if a segment becomes `.`, `..` or empty, and for a URL value that has more text after it.
 */
export function fillUrl(pieces: readonly Piece[], lookUp: (template: Template) => Json): string {
  let text = "";
  /** The templates in the current segment. */
  let templates = "";
  let isPath = true;
  const endSegment = () => {
    const segment = text.slice(startOfSegment(text)).replaceAll(UNSEEN, "");
    if (isPath && templates !== "" && /^(\.|%2e){1,2}$/i.test(segment)) throw climbing(segment);
    if (isPath && templates !== "" && segment === "") throw lacking(templates);
    templates = "";
  };
  for (const [index, piece] of pieces.entries()) {
    if (typeof piece !== "string") {
      const value = textOf(lookUp(piece));
      if (index === 0 && SCHEME.test(value)) throw unfinished();
      text += encodeURIComponent(value.toWellFormed());
      templates += piece.source;
      continue;
    }
    for (const letter of piece) {
      if ("/\\?#".includes(letter)) endSegment();
      if (letter === "?" || letter === "#") isPath = false;
      text += letter;
    }
  }
  endSegment();
  return text;
}

const climbing = (segment: string) =>
  new AppError(
    "template_error",
    `A template inserts the path segment ${JSON.stringify(segment)}, which would change the URL's path.`,
  );

const lacking = (templates: string) =>
  new AppError(
    "template_error",
    `${templates} is empty, which would remove a segment of the URL's path. Give it a value, or skip the step with a condition.`,
  );

const unfinished = () =>
  new AppError(
    "template_error",
    "Text follows a template that inserts a URL. Use one template for the whole URL, or put its beginning in a connection.",
  );
