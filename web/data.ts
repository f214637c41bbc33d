import {
  keepPreviousData,
  QueryClient,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useRef } from "react";
import type { ROLES as Roles } from "../src/resources/organizations/table.ts";
import { ApiError, CHANGED, call } from "./api.ts";
import type { Address, Call, CallInput, Reply, Role } from "./calls.ts";
import { notify } from "./parts/base/toast.tsx";
import type { Stamped } from "./tags.ts";

/** Almost every change on the server causes an event. See live.ts. */
const FRESH_MS = 20_000;

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (count, error) => count < 2 && error instanceof ApiError && error.status === 0,
      refetchOnWindowFocus: true,
    },
  },
});

interface Reading<T> {
  enabled?: boolean;
  /** Keeps the previous data visible while another page or filter loads. */
  keep?: boolean;
  /** For data that doesn't change while the page is open. */
  isFixed?: boolean;
  refetchMs?: number;
  /** Converts the response. Must be the same function in each render. */
  select?: (reply: T) => T;
}

/** Response of an operation, kept up to date by events. */
export function useApi<K extends Call>(
  name: K,
  input: CallInput<K>,
  { enabled = true, keep = false, isFixed = false, refetchMs, select }: Reading<Reply<K>> = {},
): UseQueryResult<Reply<K>, Error> {
  return useQuery<Reply<K>, Error>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, { signal }),
    enabled,
    ...(isFixed ? { staleTime: Number.POSITIVE_INFINITY } : {}),
    ...(refetchMs === undefined ? {} : { refetchInterval: refetchMs }),
    ...(select ? { select } : {}),
    ...(keep ? { placeholderData: keepPreviousData as never } : {}),
  });
}

const PAGE = 100;

/** All items of a list, read page by page. */
export async function readAll<K extends Call, T>(
  name: K,
  query: object,
  itemsOf: (page: Reply<K>) => readonly T[],
  signal?: AbortSignal,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (;;) {
    const input = { query: { ...query, limit: PAGE, offset: all.length } } as unknown as CallInput<K>;
    const items = itemsOf(await call(name, input, signal ? { signal } : {}));
    all.push(...items);
    if (items.length < PAGE) return all;
  }
}

export const useAll = <K extends Call, T>(
  name: K,
  query: object,
  itemsOf: (page: Reply<K>) => readonly T[],
): UseQueryResult<readonly T[], Error> =>
  useQuery<readonly T[], Error>({
    queryKey: [name, "all", query],
    queryFn: ({ signal }) => readAll(name, query, itemsOf, signal),
  });

/** Paths, everything in the API, or names that were requested individually. */
type Addresses = readonly (Address | "/api/v1" | "name of")[];

/** Reloads everything below these paths, such as `/connections`. */
export const refresh = (queries: QueryClient, ...paths: Addresses) =>
  queries.invalidateQueries({
    predicate: ({ queryKey: [name] }) =>
      typeof name === "string" && paths.some((path) => name.includes(path)),
  });

interface Changing<K extends Call> {
  /** Paths whose data it changes. */
  touches: Addresses;
  /** Message once it is done. */
  done?: string | ((reply: Reply<K>) => string);
  onDone?: (reply: Reply<K>) => void;
  /** Reads the new state after a rejection because someone else has changed it, before the user can try again. */
  onChanged?: () => Promise<void>;
  /** For example `if-match`. */
  headers?: Record<string, string>;
  /** False if the caller shows the error itself, next to its field. */
  tellsErrors?: boolean;
  /**
   * The resource that the user sees. If someone else has changed it since, the call is rejected once, and the next
   * call applies to the current state.
   */
  basedOn?: Stamped;
}

/** A call that changes something. */
export function useChange<K extends Call>(name: K, changing: Changing<K>) {
  const queries = useQueryClient();
  const isRefused = useRef(false);
  const inFlight = useRef(new Set<string>());
  const change = useMutation<Reply<K>, Error, CallInput<K>>({
    mutationFn: (input) =>
      call(name, input, {
        ...(changing.headers ? { headers: changing.headers } : {}),
        ...(isRefused.current || !changing.basedOn ? {} : { basedOn: changing.basedOn }),
      }),
    async onSuccess(reply) {
      isRefused.current = false;
      await refresh(queries, ...changing.touches);
      const { done } = changing;
      if (done !== undefined) notify(typeof done === "string" ? done : done(reply));
      changing.onDone?.(reply);
    },
    async onError(error) {
      if (error instanceof ApiError && error.code === CHANGED) {
        isRefused.current = true;
        await refresh(queries, ...changing.touches);
        await changing.onChanged?.();
      }
      if (changing.tellsErrors !== false) notify(error.message, "bad");
    },
    onSettled: (_reply, _error, input) => void inFlight.current.delete(JSON.stringify(input)),
  });
  return {
    ...change,
    /** Ignores an input that is in flight: Enter can be pressed again before the form is drawn as busy. */
    mutate: (...sent: Parameters<typeof change.mutate>) => {
      const text = JSON.stringify(sent[0]);
      if (inFlight.current.has(text)) return;
      inFlight.current.add(text);
      change.mutate(...sent);
    },
    /** Forgets what is in flight too: its reply isn't shown anymore. */
    reset: () => {
      inFlight.current.clear();
      change.reset();
    },
  };
}

/** The signed-in user, the organization, and the user's permissions there. */
export function useMe() {
  const user = useApi("GET /api/v1/users/me", {}, { isFixed: true });
  const memberships = useApi("GET /api/v1/users/me/memberships", {}, { isFixed: true });
  const items = memberships.data?.items ?? [];
  const current = items.find(({ isCurrent }) => isCurrent) ?? null;
  return { user: user.data ?? null, memberships: items, current, role: current?.role ?? "viewer" };
}

/** The user's permissions for the installation. Null until known. */
export const useInstallation = () => useApi("GET /api/v1/installation", {}, { isFixed: true }).data ?? null;

/** In ascending order of permissions. */
export const ROLES: typeof Roles = ["viewer", "member", "admin", "owner"];

/** Whether the user has at least this role in the organization. */
export function useMay(role: Exclude<Role, "viewer">): boolean {
  return ROLES.indexOf(useMe().role) >= ROLES.indexOf(role);
}
