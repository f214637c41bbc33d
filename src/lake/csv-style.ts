/** The format of CSV text. */
export interface CsvStyle {
  /** Detected from the first record if omitted. */
  delimiter?: string;
  /** One character, or "" for none. Default: `"`. */
  quote?: string;
  /** False if the first record is data. */
  header?: boolean;
  /** Number of lines to skip first. */
  skipRows?: number;
  /** Prefix of lines to skip. */
  comment?: string;
  /** Texts that mean NULL, in addition to an unquoted empty field. If omitted, a quoted empty field is NULL too. */
  nullText?: readonly string[];
}
