import { SaxesParser } from "saxes";
import { damaged, FileFault } from "../fault.ts";
import type { Zip } from "./zip.ts";

export type Attributes = Readonly<Record<string, string>>;

/** Receives parser events of a part; names have no prefix, `depth` is 1 for the root. */
export interface Listener {
  open(name: string, attributes: Attributes, depth: number): void;
  close?(name: string, depth: number): void;
  text?(text: string): void;
}

/** Parses a part of a workbook. Throws `FileFault` for invalid XML, and for a DTD: no entity is ever expanded. */
export async function parsePart(zip: Zip, part: string, listener: Listener): Promise<void> {
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  parser.on("doctype", () => {
    throw new FileFault(`The workbook's part ${part} has a document type, which a workbook never has.`);
  });
  parser.on("opentag", ({ name, attributes }) => listener.open(localName(name), attributes, ++depth));
  parser.on("closetag", ({ name }) => {
    listener.close?.(localName(name), depth);
    depth -= 1;
  });
  const onText = (text: string) => listener.text?.(text);
  parser.on("text", onText);
  parser.on("cdata", onText);
  let decoder: TextDecoder | null = null;
  for await (const bytes of zip.inflate(part)) {
    decoder ??= decoderFor(bytes);
    feed(part, () => parser.write(decode(part, decoder as TextDecoder, bytes)));
  }
  feed(part, () => parser.write(decode(part, decoder ?? new TextDecoder())).close());
}

/** The value of an attribute with any prefix, such as `r:id`. */
export function prefixed(attributes: Attributes, name: string): string | undefined {
  const found = Object.keys(attributes).find((key) => key.includes(":") && localName(key) === name);
  return found === undefined ? undefined : attributes[found];
}

const localName = (name: string) => {
  const colon = name.indexOf(":");
  return colon < 0 ? name : name.slice(colon + 1);
};

/** OPC allows only UTF-8 and UTF-16. */
function decoderFor([first, second]: Uint8Array): TextDecoder {
  const label =
    first === 0xfe && second === 0xff ? "utf-16be" : first === 0xff && second === 0xfe ? "utf-16le" : "utf-8";
  return new TextDecoder(label, { fatal: true });
}

function decode(part: string, decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch {
    throw damaged(`its part ${part} isn't ${decoder.encoding.toUpperCase()}`);
  }
}

/** Errors of listeners are passed on; the parser's own become errors of the file. */
function feed(part: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof Error) || error.constructor !== Error || "code" in error) throw error;
    throw damaged(`its part ${part} isn't XML: ${error.message.replace(/^\d+:\d+: |[.]$/g, "")}`);
  }
}
