const PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,9}))?$/i;
/** Maximum precision of a DECIMAL. */
const MAX_DIGITS = 38;

/**
 * Returns the number as plain decimal text, without conversion to a double. If that would have more digits than a
 * DECIMAL, returns the shortest form of a double, or the text unchanged. Null if it isn't a number.
 */
export function decimalText(text: string): string | null {
  if (PLAIN.test(text)) return text;
  const [, sign, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  if (sign === undefined || whole + fraction === "") return null;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const minus = sign === "-" ? "-" : "";
  if (point > MAX_DIGITS || digits.length - point > MAX_DIGITS) {
    const shortest = String(Number(text));
    return isSameNumber(shortest, text) ? shortest : text;
  }
  const padded = digits.padStart(digits.length - Math.min(0, point), "0").padEnd(point, "0");
  const at = Math.max(0, point);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, "") || "0";
  const right = padded.slice(at);
  return `${minus}${left}${right === "" ? "" : `.${right}`}`;
}

const isSameNumber = (one: string, other: string) => significant(one) === significant(other);

/** The sign, the digits without leading and trailing zeros, and the position of the point. */
function significant(text: string): string | null {
  const [, sign, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  if (sign === undefined) return null;
  const digits = (whole + fraction).replace(/^0+/, "");
  const lead = whole.length + fraction.length - digits.length;
  return `${sign === "-" ? "-" : ""}${digits.replace(/0+$/, "")}e${whole.length - lead + Number(exponent)}`;
}
