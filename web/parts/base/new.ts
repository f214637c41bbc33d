import { useSearchParams } from "wouter";

/** Whether the form for a new resource is open, stored in the URL as `?new=yes`. */
export function useNew(): readonly [isNew: boolean, setNew: (isNew: boolean) => void] {
  const [search, setSearch] = useSearchParams();
  const setNew = (isNew: boolean) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        if (isNew) next.set("new", "yes");
        else next.delete("new");
        return next;
      },
      { replace: true },
    );
  return [search.has("new"), setNew];
}
