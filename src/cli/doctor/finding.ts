/** What one look at an installation has found. */
export interface Finding {
  /** What was looked at, such as `disk`. */
  check: string;
  ok: boolean;
  message: string;
  /** What to do; null where nothing is wrong. */
  remedy: string | null;
}

export const fine = (check: string, message: string): Finding => ({ check, ok: true, message, remedy: null });

export const wrong = (check: string, message: string, remedy: string): Finding => ({
  check,
  ok: false,
  message,
  remedy,
});

/** What `look` finds; what it throws is a finding too. */
export async function looking(
  check: string,
  remedy: string,
  examine: () => Promise<Finding> | Finding,
): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return wrong(check, message, remedy);
  }
}
