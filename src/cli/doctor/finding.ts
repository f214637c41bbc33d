/** Result of one check of an installation. */
export interface Finding {
  /** Name of the check, such as `disk`. */
  check: string;
  ok: boolean;
  message: string;
  /** What to do. Null if nothing is wrong. */
  remedy: string | null;
}

export const fine = (check: string, message: string): Finding => ({ check, ok: true, message, remedy: null });

export const wrong = (check: string, message: string, remedy: string): Finding => ({
  check,
  ok: false,
  message,
  remedy,
});

/** Returns the result of `look`. Errors it throws become findings too. */
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
