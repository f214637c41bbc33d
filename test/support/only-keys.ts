import type { Locator, Page } from "playwright-core";

const MOST_STOPS = 60;

/** Uses a page without a mouse. Counts the keys, and records invisible Tab stops. */
export function onlyKeys(page: Page) {
  let count = 0;
  const unseen = new Set<string>();
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
    count += keys.length;
  };
  const look = async () => {
    const fault = await page.evaluate(faultOfFocus);
    if (fault) unseen.add(fault);
  };
  const tabTo = async (at: Locator, key: "Tab" | "Shift+Tab" = "Tab") => {
    await at.waitFor();
    for (let stops = 0; !(await isFocused(at)); stops++) {
      if (stops === MOST_STOPS) throw new Error(`${MOST_STOPS} × ${key} do not lead to ${at}`);
      await press(key);
      await look();
    }
  };
  return {
    get count() {
      return count;
    },
    unseen,
    press,
    tabTo,
    /** Replaces the content of the focused field. A text counts as one key. */
    async write(text: string) {
      await page.keyboard.press("Control+a");
      await page.keyboard.type(text);
      count++;
    },
    async fill(at: Locator, text: string, key?: "Shift+Tab") {
      await tabTo(at, key);
      await this.write(text);
    },
    /** Moves down a list until the selected option begins with the text. */
    async choose(at: Locator, text: string) {
      await tabTo(at);
      const shown = () =>
        at.evaluate((list) => (list as HTMLSelectElement).selectedOptions[0]?.textContent ?? "");
      let before = "";
      for (let now = await shown(); !now.startsWith(text); now = await shown()) {
        if (now === before) throw new Error(`${at} offers no ${text}`);
        before = now;
        await press("ArrowDown");
      }
    },
    async enter(at: Locator, key?: "Shift+Tab") {
      await tabTo(at, key);
      await press("Enter");
    },
  };
}

const isFocused = (at: Locator) =>
  at.evaluate((element) => (element.getRootNode() as Document | ShadowRoot).activeElement === element);

/** What is wrong with how the focused element is displayed. */
function faultOfFocus(): string | null {
  let element = document.activeElement as HTMLElement | null;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement as HTMLElement;
  if (!element || element === document.body || element.isContentEditable) return null;
  const name = element.getAttribute("aria-label") ?? element.textContent?.slice(0, 40) ?? "";
  const words = `${element.tagName.toLowerCase()} ${name}`;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
  if ((outlineStyle === "none" || outlineWidth === "0px") && boxShadow === "none") return `${words}: no ring`;
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const hit = document.elementFromPoint(x, y);
  const isSeen = hit !== null && (element.contains(hit) || hit.contains(element) || hit.shadowRoot !== null);
  return isSeen ? null : `${words}: covered or out of view`;
}
