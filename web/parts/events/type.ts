import type { EventType } from "../../calls.ts";

type Noun<T extends EventType> = T extends `${infer N}.${string}` ? N : never;
type Word<T extends EventType> = T extends `${string}.${infer W}` ? W : never;
/** `action` of `action.started`. */
export type EventNoun = Noun<EventType>;
/** `started` of `action.started`. */
export type EventWord = Word<EventType>;

/** `action.started` → `action`, `started`. */
export const partsOf = (type: EventType) => type.split(".") as [EventNoun, EventWord];
