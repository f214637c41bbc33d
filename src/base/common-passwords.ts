import list from "./common-passwords.txt" with { type: "text" };

let words: ReadonlySet<string> | null = null;

const common = (): ReadonlySet<string> => {
  words ??= new Set(list.split("\n").filter((line) => line !== "" && !line.startsWith("# ")));
  return words;
};

/** So many characters more leave a common password as easy to guess. */
const GUESSABLE_CHARACTERS = 4;

/** A short text or a common password, said again and again. */
function isRepetition(text: string): boolean {
  const unit = text.slice(0, (text + text).indexOf(text, 1));
  return unit.length < text.length && (unit.length <= GUESSABLE_CHARACTERS || common().has(unit));
}

const isSequence = (text: string) =>
  ["0123456789", "9876543210"].some((digits) => digits.repeat(4).includes(text));

const isSimplePadding = (text: string) =>
  text.length <= GUESSABLE_CHARACTERS || isRepetition(text) || isSequence(text) || common().has(text);

/**
 * True for one of the 10,000 commonest passwords in either case, for one with a simple padding of digits and signs
 * around it (`Password1234`), and for what only repeats itself or counts.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  if (common().has(text) || isRepetition(text) || isSequence(text)) return true;
  const [, before = "", core = "", after = ""] = /^([^a-z]*)(.*?)([^a-z]*)$/s.exec(text) ?? [];
  if (before === "" && after === "") return false;
  return common().has(core) && isSimplePadding(before) && isSimplePadding(after);
}
