/** How CSV text is written. */
export interface CsvStyle {
  /** Found from the first record where absent. */
  delimiter?: string;
  /** One character, or "" for none; `"` where absent. */
  quote?: string;
  /** False where the first record is a row already. */
  header?: boolean;
  /** Lines that are passed over first. */
  skipRows?: number;
  /** What lines begin with that are passed over. */
  comment?: string;
  /** Texts that stand for NULL beside an unquoted nothing; without it an empty quoted field is NULL too. */
  nullText?: readonly string[];
}
