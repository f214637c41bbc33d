import { Later, part } from "../base/later.tsx";
import type { ValueProps } from "./value-views.tsx";

const views = part(() => import("./value-views.tsx"));

/** A value to look at and to insert from. Its code comes with the first step that has one. */
export const Values = (props: ValueProps) => <Later of={views} given={props} waiting={null} />;
