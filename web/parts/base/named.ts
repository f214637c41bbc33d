/** Each word with its name, in the order given: a word that is missing, or not among them, is an error of types. */
export const named = <V extends string>(names: Readonly<Record<V, string>>) =>
  Object.entries(names) as [word: V, name: string][];
