import { useSearchParams } from "wouter";
import type { Dashboard, SharedDashboard } from "../../calls.ts";

export type Filter = SharedDashboard["filters"][number];
export type Panel = Dashboard["panels"][number];

/** The names that a filter has in addresses and in SQL. */
export const namesOf = ({ key, type }: Pick<Filter, "key" | "type">): readonly string[] =>
  type === "date_range" ? [`${key}_from`, `${key}_to`] : [key];

/** The values of filters in the address, so that a link shows the same. */
export function useValues(filters: readonly Filter[]) {
  const [search, setSearch] = useSearchParams();
  const names = filters.flatMap(namesOf);
  const given = Object.fromEntries(
    names.flatMap((name) => (search.has(name) ? [[name, search.get(name) ?? ""]] : [])),
  );
  return {
    /** Those that the address gives. An empty one means no value, where the default would be another. */
    given,
    isAny: Object.keys(given).length > 0,
    /** Sets several at once; `isStep` so that the browser's Back undoes it. */
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
    /** Their defaults apply again. */
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
