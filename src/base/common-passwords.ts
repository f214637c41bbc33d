import list from "./common-passwords.txt" with { type: "text" };

let words: ReadonlySet<string> | null = null;

const common = (): ReadonlySet<string> => {
  words ??= new Set(list.split("\n").filter((line) => line !== "" && !line.startsWith("# ")));
  return words;
};

/** A common password with this many additional characters is still easy to guess. */
const GUESSABLE_CHARACTERS = 4;

/** Returns whether text repeats a short text or a common password. */
function isRepetition(text: string): boolean {
  const unit = text.slice(0, (text + text).indexOf(text, 1));
  return unit.length < text.length && (unit.length <= GUESSABLE_CHARACTERS || common().has(unit));
}

const isSequence = (text: string) =>
  ["0123456789", "9876543210"].some((digits) => digits.repeat(4).includes(text));

const isSimplePadding = (text: string) =>
  text.length <= GUESSABLE_CHARACTERS || isRepetition(text) || isSequence(text) || common().has(text);

/**
 * Returns whether a password is easy to guess: one of the 10,000 most common ones in any case,
 * one padded with a few digits or symbols (`Password1234`), a repetition or a sequence.
 */
export function isCommonPassword(password: string): boolean {
  const text = password.toLowerCase();
  if (common().has(text) || isRepetition(text) || isSequence(text)) return true;
  const [, before = "", core = "", after = ""] = /^([^a-z]*)(.*?)([^a-z]*)$/s.exec(text) ?? [];
  if (before === "" && after === "") return false;
  return common().has(core) && isSimplePadding(before) && isSimplePadding(after);
}
