import { useSearchParams } from "wouter";
import type { Dashboard, SharedDashboard } from "../../calls.ts";

export type Filter = SharedDashboard["filters"][number];
export type Panel = Dashboard["panels"][number];

/** Names of a filter in URLs and in SQL. */
export const namesOf = ({ key, type }: Pick<Filter, "key" | "type">): readonly string[] =>
  type === "date_range" ? [`${key}_from`, `${key}_to`] : [key];

/** Values of filters, stored in the URL so that links keep them. */
export function useValues(filters: readonly Filter[]) {
  const [search, setSearch] = useSearchParams();
  const names = filters.flatMap(namesOf);
  const values = Object.fromEntries(
    names.flatMap((name) => (search.has(name) ? [[name, search.get(name) ?? ""]] : [])),
  );
  return {
    /** Values in the URL. An empty one means no value instead of the default. */
    given: values,
    isAny: Object.keys(values).length > 0,
    /** Sets several at once. With `isStep`, the browser's Back button reverts it. */
    set(changes: Readonly<Record<string, string>>, isStep = false) {
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(changes)) after.set(name, value);
          return after;
        },
        { replace: !isStep },
      );
    },
    /** Restores their defaults. */
    remove(gone: readonly string[]) {
      setSearch((before) => {
        const after = new URLSearchParams(before);
        for (const name of gone) after.delete(name);
        return after;
      });
    },
  };
}

export type Values = ReturnType<typeof useValues>;
