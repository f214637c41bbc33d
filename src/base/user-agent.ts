/** What a User-Agent header says about its sender. Null if unknown. */
interface Agent {
  browserFamily: string | null;
  browserVersion: string | null;
  osFamily: string | null;
  osVersion: string | null;
}

/** Most browsers claim to be Chrome and Safari too, so more specific ones come first. */
const BROWSERS: readonly (readonly [family: string, version: RegExp])[] = [
  ["Edge", /\b(?:Edg|EdgA|EdgiOS|Edge)\/([\d.]+)/],
  ["Opera", /\b(?:OPR|OPiOS|Opera)\/([\d.]+)/],
  ["Vivaldi", /\bVivaldi\/([\d.]+)/],
  ["Samsung Internet", /\bSamsungBrowser\/([\d.]+)/],
  ["Firefox", /\b(?:Firefox|FxiOS)\/([\d.]+)/],
  ["Chrome", /\b(?:HeadlessChrome|Chrome|CriOS|Chromium)\/([\d.]+)/],
  ["Safari", /\bVersion\/([\d.]+).* Safari\//],
  ["curl", /^curl\/([\d.]+)/],
  ["Bun", /^Bun\/([\d.]+)/],
];

const SYSTEMS: readonly (readonly [family: string, version: RegExp])[] = [
  ["Windows", /\bWindows(?: NT ([\d.]+))?/],
  ["iOS", /\b(?:iPhone|iPad|iPod)\b(?:.* OS ([\d_]+))?/],
  ["Android", /\bAndroid(?: ([\d.]+))?/],
  ["macOS", /\bMac OS X(?: ([\d_.]+))?/],
  ["ChromeOS", /\bCrOS \S+(?: ([\d.]+))?/],
  ["Linux", /\bLinux\b()/],
];

/** Recognizes common browsers and systems. For people who review their sessions, not for decisions. */
export function readUserAgent(userAgent: string | null): Agent {
  const [browserFamily, browserVersion] = firstOf(BROWSERS, userAgent ?? "");
  const [osFamily, osVersion] = firstOf(SYSTEMS, userAgent ?? "");
  return { browserFamily, browserVersion, osFamily, osVersion };
}

/** Parses the User-Agent of Weir's command line: `weir/0.1.0 (Linux; xterm-256color)`. */
export function readCliAgent(userAgent: string | null): {
  cliVersion: string | null;
  terminal: string | null;
} {
  const [, cliVersion = null, terminal = null] =
    /^weir\/([\w.+-]{1,50})(?: \([^;()]*(?:; ([\w.+-]{1,50}))?\))?$/.exec(userAgent ?? "") ?? [];
  return { cliVersion, terminal };
}

function firstOf(patterns: typeof BROWSERS, text: string): [family: string | null, version: string | null] {
  for (const [family, pattern] of patterns) {
    const found = pattern.exec(text);
    if (found) return [family, found[1]?.replaceAll("_", ".") || null];
  }
  return [null, null];
}
