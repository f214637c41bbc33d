import type { Locator, Page } from "playwright-core";

/** Counts what a user does with the mouse: a field without focus takes a click before typing, and a list two. */
export function countClicks(page: Page) {
  let count = 0;
  return {
    get count() {
      return count;
    },
    async click(at: Locator) {
      await at.click();
      count++;
    },
    async write(at: Locator, text: string) {
      const isFocused = await at.evaluate((field) => field === document.activeElement);
      if (!isFocused) {
        await at.click();
        count++;
      }
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(text);
    },
    async choose(at: Locator, option: string | { label: string }) {
      await at.selectOption(option);
      count += 2;
    },
    async check(at: Locator) {
      await at.check();
      count++;
    },
  };
}
