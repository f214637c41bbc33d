import type { Signals } from "../base/signals.ts";
import type { Channel } from "./store.ts";

/** What somebody may wait for at another process. */
const TOLD = /^(run|automation-run|cancel|events):/;
const ELSEWHERE = "elsewhere:";

/** A topic that only the other processes hear, as `topic`. */
export const elsewhere = (topic: string): string => `${ELSEWHERE}${topic}`;

/** Signals that also reach the processes on the same database, unless there are none. */
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
