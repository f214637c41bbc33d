/** Whether the browser has refused to store something: its storage is full or blocked. */
let isRefused = false;
let onRefused: () => void = () => undefined;

/** Called once, at the first refusal. */
export function whenNotStored(listener: () => void): void {
  onRefused = listener;
}

/** One of the browser's storages, without errors. What it refuses is kept until the user leaves the page. */
function open(name: "localStorage" | "sessionStorage") {
  const refused = new Map<string, string>();
  return {
    get(key: string): string | null {
      try {
        return refused.get(key) ?? globalThis[name].getItem(key);
      } catch {
        return null; // blocked, or outside browsers
      }
    },
    /** Null deletes it. Returns whether it is stored. */
    set(key: string, value: string | null): boolean {
      refused.delete(key);
      try {
        if (value === null) globalThis[name].removeItem(key);
        else globalThis[name].setItem(key, value);
        return true;
      } catch {
        if (value === null) return false;
        refused.set(key, value);
        if (!isRefused) onRefused();
        isRefused = true;
        return false;
      }
    },
    deleteAll(isOver: (key: string) => boolean): void {
      try {
        for (const key of Object.keys(globalThis[name])) if (isOver(key)) globalThis[name].removeItem(key);
      } catch {
        return; // blocked: nothing is stored
      }
    },
  };
}

/** Storage of this browser, for all tabs. */
export const ofBrowser = open("localStorage");
/** Storage of this tab. */
export const ofTab = open("sessionStorage");
