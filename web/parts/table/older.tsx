import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api.ts";
import type { Call, CallInput, Reply } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Failed, Loading } from "../base/page.tsx";

const LIMIT = 50;

/** Operations that list with a cursor. */
type CursorCall = {
  [K in Call]: [Reply<K>] extends [never]
    ? never
    : Reply<K> extends { items: unknown[]; nextCursor?: string }
      ? K
      : never;
}[Call];
type ItemOf<K extends CursorCall> = Reply<K> extends { items: (infer T)[] } ? T : never;

interface Options {
  enabled?: boolean;
  /** For lists that change without an event. */
  refetchMs?: number;
}

/** A list that is paged by cursor. All loaded pages are kept up to date together. */
export function useOlder<K extends CursorCall>(name: K, input: CallInput<K>, options: Options = {}) {
  const { enabled = true, refetchMs } = options;
  const parts = input as { query?: object };
  const list = useInfiniteQuery({
    queryKey: [name, input, "pages"],
    queryFn: async ({ signal, pageParam }) => {
      const request = { ...parts, query: { ...parts.query, limit: LIMIT, cursor: pageParam } };
      const page = await call(name, request as unknown as CallInput<K>, { signal });
      return page as unknown as { items: ItemOf<K>[]; nextCursor?: string };
    },
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor,
    enabled,
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
  });
  return { ...list, items: list.data?.pages.flatMap(({ items }) => items) ?? null };
}

interface Props<T> {
  of: {
    items: T[] | null;
    error: Error | null;
    refetch: () => unknown;
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    fetchNextPage: () => unknown;
  };
  rows?: number;
  children: (items: readonly T[]) => ReactNode;
}

/** The items loaded so far, and a button to load more. */
export function Older<T>({ of, rows = 5, children }: Props<T>) {
  if (of.items === null)
    return of.error ? <Failed error={of.error} again={() => void of.refetch()} /> : <Loading rows={rows} />;
  return (
    <>
      {children(of.items)}
      {of.hasNextPage && (
        <div className="border-t border-line p-2 text-center">
          <Button kind="quiet" busy={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
            {t("Load more")}
          </Button>
        </div>
      )}
    </>
  );
}
