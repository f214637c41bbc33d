const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
/** Lower numbers are built-in formats. */
const FIRST_OWN = 164;

/** The style of the header. */
export const BOLD = 1;
const FIRST = 2;

/** Number formats, each with its own style. */
export class Styles {
  readonly #codes: string[] = [];

  /** The number of a style, created if new. */
  of(code: string): number {
    const known = this.#codes.indexOf(code);
    return FIRST + (known >= 0 ? known : this.#codes.push(code) - 1);
  }

  /** The part `xl/styles.xml`. */
  xml(): string {
    const formats = this.#codes.map(
      (code, at) => `<numFmt numFmtId="${FIRST_OWN + at}" formatCode="${code.replaceAll('"', "&quot;")}"/>`,
    );
    const list =
      formats.length === 0 ? "" : `<numFmts count="${formats.length}">${formats.join("")}</numFmts>`;
    const styles = this.#codes.map(
      (_, at) =>
        `<xf numFmtId="${FIRST_OWN + at}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`,
    );
    const font = (more: string) => `<font>${more}<sz val="11"/><name val="Calibri"/><family val="2"/></font>`;
    const none = `numFmtId="0" fontId="0" fillId="0" borderId="0"`;
    return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<styleSheet xmlns="${MAIN}">${list}<fonts count="2">${font("")}${font("<b/>")}</fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf ${none}/></cellStyleXfs><cellXfs count="${FIRST + styles.length}"><xf ${none} xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>${styles.join("")}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;
  }
}
