import { type ComponentType, type ReactNode, useEffect, useReducer, useState } from "react";
import { useLink } from "../live.ts";
import { Failed, Loading } from "./page.tsx";

/** Code that is a file of its own. */
export interface Part<P> {
  /** Fetches it, once; what failed is tried anew by the next call. */
  readonly load: () => Promise<void>;
  /** Null before it is here. */
  ready: ComponentType<P> | null;
}

export function part<P>(get: () => Promise<{ default: ComponentType<P> }>): Part<P> {
  let fetching: Promise<void> | null = null;
  const made: Part<P> = {
    ready: null,
    load() {
      fetching ??= get().then(
        (module) => {
          made.ready = module.default;
        },
        (error: unknown) => {
          fetching = null;
          throw error;
        },
      );
      return fetching;
    },
  };
  return made;
}

interface Props<P> {
  of: Part<P>;
  given: P;
  waiting?: ReactNode;
}

/**
 * Draws a part. Code that is here already is drawn at once; through `lazy` it would be a third of a second late, and
 * what could not be fetched while the server was away would never come.
 */
export function Later<P extends object>({ of, given, waiting = <Loading /> }: Props<P>) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [error, setError] = useState<Error | null>(null);
  const link = useLink();
  const begin = () => {
    setError(null);
    of.load().then(draw, setError);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: tried again once the server is back
  useEffect(() => {
    if (of.ready === null) begin();
  }, [of, link]);
  const Drawn = of.ready;
  if (Drawn) return <Drawn {...given} />;
  return error ? (
    <Failed error={new Error("A part of the page could not be fetched.")} again={begin} />
  ) : (
    waiting
  );
}
