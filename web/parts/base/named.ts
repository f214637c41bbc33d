/** Pairs of values and names, in the given order. A missing or unknown value is a type error. */
export const named = <V extends string>(names: Readonly<Record<V, string>>) =>
  Object.entries(names) as [word: V, name: string][];
