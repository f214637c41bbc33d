import latinExtended from "@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2" with {
  type: "file",
};
import latin from "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2" with { type: "file" };

const RANGES: readonly (readonly [file: string, range: string])[] = [
  [
    latin,
    "U+0000-00FF, U+0131, U+0152-0153, U+02BB-02BC, U+02C6, U+02DA, U+02DC, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212",
  ],
  [
    latinExtended,
    "U+0100-02BA, U+02BD-02C5, U+02C7-02CC, U+02CE-02D7, U+1E00-1E9F, U+1EF2-1EFF, U+20A0-20AB",
  ],
];

/**
 * Loads the page's fonts as files. In a style sheet, the bundler would embed them as data URLs, which the CSP blocks.
 * A range is fetched when the page first shows one of its characters.
 */
export function loadFonts(): void {
  for (const [file, unicodeRange] of RANGES) {
    document.fonts.add(
      new FontFace("Inter", `url(${file})`, { weight: "100 900", display: "swap", unicodeRange }),
    );
  }
}
