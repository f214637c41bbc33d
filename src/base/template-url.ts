import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { Piece, Template } from "./template-grammar.ts";
import { textOf } from "./template-lookup.ts";

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** What reading a URL leaves out: these wherever they stand, and all controls and blanks at its ends. */
const UNSEEN = /[\t\r\n]|[\0-\x20]+$/g;

/** A backslash is read as a slash. */
const startOfSegment = (text: string) => Math.max(text.lastIndexOf("/"), text.lastIndexOf("\\")) + 1;

/**
 * The text of a URL with its templates filled in. What a template puts in is percent-encoded, so that it is one segment
 * of the path, or one value of the query, and reaches no other endpoint.
 *
 * Throws `template_error` where it makes a segment `.` or `..`, and for an address that has more text behind it.
 */
export function fillUrl(pieces: readonly Piece[], lookUp: (template: Template) => Json): string {
  let text = "";
  /** True where a template has put something into the segment at hand. */
  let isGiven = false;
  let isPath = true;
  const endSegment = () => {
    const segment = text.slice(startOfSegment(text)).replaceAll(UNSEEN, "");
    if (isPath && isGiven && /^(\.|%2e){1,2}$/i.test(segment)) throw climbing(segment);
    isGiven = false;
  };
  for (const [index, piece] of pieces.entries()) {
    if (typeof piece !== "string") {
      const value = textOf(lookUp(piece));
      if (index === 0 && SCHEME.test(value)) throw unfinished();
      text += encodeURIComponent(value.toWellFormed());
      isGiven = true;
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

const unfinished = () =>
  new AppError(
    "template_error",
    "Text follows a template that inserts a URL. Use one template for the whole URL, or put its beginning in a connection.",
  );
