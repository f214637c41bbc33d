import type { Signals } from "../base/signals.ts";
import type { Channel } from "./store.ts";

/** Topics that another process may wait for. */
const TOLD = /^(run|automation-run|cancel|events):/;
const ELSEWHERE = "elsewhere:";

/** The name of `topic` for messages that only peers receive. */
export const elsewhere = (topic: string): string => `${ELSEWHERE}${topic}`;

/** Signals that also reach peers on the same database, if there are any. */
export function shareSignals(own: Signals, channel: Channel, isAlone: () => boolean): Signals {
  channel.hear((topic) => own.notify(topic.startsWith(ELSEWHERE) ? topic.slice(ELSEWHERE.length) : topic));
  return {
    ...own,
    notify(topic) {
      const isOthers = topic.startsWith(ELSEWHERE);
      if (!isOthers) own.notify(topic);
      if ((isOthers || TOLD.test(topic)) && !isAlone()) channel.tell(topic);
    },
  };
}
