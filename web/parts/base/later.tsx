import { type ComponentType, type ReactNode, useEffect, useReducer, useState } from "react";
import { Failed, Loading } from "./page.tsx";
import { pageLost } from "./texts.ts";

/** Code in a separate file. */
export interface Part<P> {
  /** Loads it once. Browsers cache failed modules and their imports, so only a reload can load them again. */
  readonly load: () => Promise<void>;
  /** Null until it is loaded. */
  ready: ComponentType<P> | null;
}

export function part<P>(get: () => Promise<{ default: ComponentType<P> }>): Part<P> {
  let fetching: Promise<void> | null = null;
  const made: Part<P> = {
    ready: null,
    load() {
      fetching ??= get().then((module) => {
        made.ready = module.default;
      });
      return fetching;
    },
  };
  return made;
}

interface Props<P> {
  of: Part<P>;
  props: P;
  waiting?: ReactNode;
  /** Shown if it can't be loaded. */
  lost?: ReactNode;
}

/** Renders a part. Loaded code renders immediately, while `lazy` would delay it by a third of a second. */
export function Later<P extends object>({ of, props, waiting = <Loading />, lost = <Lost /> }: Props<P>) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    if (of.ready) return;
    setLost(false);
    of.load().then(draw, () => setLost(true));
  }, [of]);
  const Drawn = of.ready;
  if (Drawn) return <Drawn {...props} />;
  return isLost ? lost : waiting;
}

const Lost = () => <Failed error={new Error(pageLost())} again={() => location.reload()} />;
